// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "device/plan/device_plan.h"
#include "device/stream.h"

namespace myxtts {

// What a device is used for: making batches out of sound, or training.
enum class Role { Data, Model };

// "data" or "model".
std::string name_of(Role role);

struct MemoryReading {
  std::int64_t reserved = 0;  // bytes taken from the device now
  std::int64_t peak = 0;      // the most at any time
  std::int64_t refused = 0;   // the last request that went over the cap; 0: none did
  std::optional<std::int64_t> cap = {};
};

// Counts the bytes that one role holds of its device and refuses what would go over its cap. It
// stands where memory is taken from the device, below LibTorch's cache. Any thread.
class RoleMemory {
 public:
  RoleMemory(Role role, std::string device, std::optional<std::int64_t> cap = {});

  // False: it would go over the cap, and nothing was counted.
  [[nodiscard]] bool try_take(std::int64_t bytes);
  void give_back(std::int64_t bytes);

  MemoryReading read() const;

  // The error for the last refused request: role, device, cap, size and the settings that help.
  DeviceError over_cap() const;

 private:
  const Role role_;
  const std::string device_;
  const std::optional<std::int64_t> cap_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  MemoryReading now_;
};

// Detects that memory which should be steady grows without end. What counts is the least that was
// held in each 1,000 steps after the warm-up. In a sound run it rises too, when a longer batch
// comes or a validation leaves more in the cache, but less and less. So it leaks when that least
// rose by more than 1 % three times running, and at last by no less than half of what it rose at
// first.
class GrowthWatch {
 public:
  static constexpr std::int64_t kWarmUp = 100;   // steps
  static constexpr std::int64_t kWindow = 1000;  // steps
  static constexpr std::size_t kGrowths = 3;     // running

  // `stage` is who takes the memory, e.g. "the feature stage".
  explicit GrowthWatch(std::string stage) : stage_(std::move(stage)) {}

  // After every step, from 0. A sentence comes back once for each window that ends a leak's.
  std::optional<std::string> observe(std::int64_t step, std::int64_t bytes);

 private:
  const std::string stage_;
  std::int64_t window_end_ = kWarmUp + kWindow;
  std::optional<std::int64_t> least_ = {};  // of this window
  std::deque<std::int64_t> leasts_;         // of the last windows, at most kGrowths + 1
};

// What to do when a device is lost in mid-run, for the end of a message.
inline constexpr std::string_view kAfterALostDevice =
    "Checkpoints that were saved are whole: type the same command with --resume once the device "
    "works again.";

// The error that ends a run whose device failed under it. Of the cause the first line counts.
DeviceError failed_device(Role role, const std::string& device, std::string_view cause);

// Host memory that knows how to give itself back; page-locked where a GPU copies from it.
using HostMemory = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

// Work of a GPU that was recorded and can be queued again as a whole, for the price of one launch.
// It reads and writes the same memory each time.
class RecordedGraph {
 public:
  virtual ~RecordedGraph() = default;

  // Queues the work on the role's stream. Random numbers are drawn from where LibTorch's generator
  // stands. Never waits.
  virtual void replay() = 0;
};

// Records work of a role as graphs. They share one pool of memory, counted as the role's own, so
// record the largest first; whatever a graph leaves there is gone once another one was replayed.
//
// One thread. The device outlives it, and it outlives its graphs.
class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;

  // Runs `work`, whose kernels are recorded in place of being started. Throws what it throws, and
  // c10::Error where it does what cannot be recorded.
  virtual std::unique_ptr<RecordedGraph> record(const std::function<void()>& work) = 0;

  // While work is recorded: a place in its random numbers, and back to it, so that it can draw
  // numbers a second time.
  virtual std::uint64_t random_place() const = 0;
  virtual void go_to(std::uint64_t place) = 0;
};

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
