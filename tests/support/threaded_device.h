// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/role_device.h"

namespace myxtts::test {

// A device in host memory whose streams are threads, so that work is done later than it is asked
// for, as on a GPU, and streams overtake each other unless events forbid it. Stream 0 is the
// role's. Any thread may call it, as any RoleDevice; it ends when its queues are empty.
class ThreadedDevice final : public RoleDevice {
 public:
  explicit ThreadedDevice(int gpu = 0);
  ~ThreadedDevice() override;

  // Queued as a kernel would be.
  void run(const Stream& stream, std::function<void()> work) const;
  // Waits until everything queued so far is done.
  void synchronize(const Stream& stream) const;

  // From now on host_memory() refuses more bytes at once.
  void limit_host_memory(std::size_t bytes) { most_host_memory_ = bytes; }

  std::string name() const override { return "a device of threads"; }
  int gpu() const override { return gpu_; }
  Stream stream() const override { return {.gpu = gpu_, .id = 0}; }
  Stream make_stream() override;
  Event make_event() const override;
  HostMemory host_memory(std::size_t bytes) const override;
  void copy(const Stream& stream, DeviceBytes to, DeviceBytes from,
            std::size_t bytes) const override;
  std::unique_ptr<Scope> enter(const Stream&) override { return std::make_unique<Scope>(); }
  const RoleMemory& memory() const override { return memory_; }
  void rethrow() const override { throw; }

 private:
  class Worker;

  const int gpu_;
  RoleMemory memory_;
  std::size_t most_host_memory_ = SIZE_MAX;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace myxtts::test
