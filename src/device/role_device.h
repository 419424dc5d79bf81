// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/device_plan.h"
#include "device/event.h"
#include "device/graph_recorder.h"
#include "device/host_memory.h"
#include "device/role_memory.h"
#include "device/stream.h"

namespace myxtts {

// Bytes on a device or in host memory.
struct DeviceBytes {
  void* data = nullptr;
  int gpu = -1;  // LibTorch's number; -1: host memory
};

// The device of one role as the pipeline uses it, besides computing with tensors: streams, events,
// copies, host memory that copies come from, and a count of the memory taken.
//
// Any thread may call any method; none waits for the device. It outlives every tensor, event and
// piece of memory made with it. The CPU's is cpu/cpu_role_device.h, a GPU's is in the CUDA plugin.
class RoleDevice {
 public:
  // While it lives, LibTorch's work of this thread belongs to the role: on its device and the
  // stream given, memory counted as its own, with its share of threads.
  class Scope;

  virtual ~RoleDevice() = default;

  virtual std::string name() const = 0;  // "GPU 1", "the CPU"
  virtual int gpu() const = 0;           // LibTorch's number; -1: the CPU

  virtual Stream stream() const = 0;  // where the role computes
  virtual Stream make_stream() = 0;   // another one, for copies; of the same priority
  virtual Event make_event() const = 0;
  virtual HostMemory host_memory(std::size_t bytes) const = 0;

  // Queued on `stream`, which is one of this device.
  virtual void copy(const Stream& stream, DeviceBytes to, DeviceBytes from,
                    std::size_t bytes) const = 0;

  [[nodiscard]] virtual std::unique_ptr<Scope> enter(const Stream& stream) = 0;

  virtual const RoleMemory& memory() const = 0;

  // For work on stream(); null where a device has no graphs.
  virtual std::unique_ptr<GraphRecorder> make_graph_recorder() { return nullptr; }

  // Turns an error of LibTorch that was caught in a scope of this role into ours and throws it:
  // over_cap() where that was the cause. Call it in a catch block.
  [[noreturn]] virtual void rethrow() const = 0;
};

class RoleDevice::Scope {
 public:
  virtual ~Scope() = default;
};

// Opens the device of a role: the CPU's, or a GPU's through the CUDA plugin. Throws DeviceError.
std::unique_ptr<RoleDevice> open_role_device(Role role, const RolePlan& plan);

}  // namespace myxtts
