// SPDX-License-Identifier: Apache-2.0
#include "run/snapshot.h"

#include <new>
#include <utility>

#include "base/error.h"
#include "base/human.h"
#include "base/log.h"

namespace myxtts {
namespace {

constexpr std::size_t kAlignment = 256;  // bytes, as a GPU's own allocations

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t room_needed(std::initializer_list<PlacedTensors*> groups) {
  std::size_t bytes = 0;
  for (const auto* tensors : groups) {
    for (const auto& [name, tensor] : *tensors) bytes += aligned(tensor.bytes);
  }
  return bytes;
}

std::shared_ptr<std::byte> take_in_host_memory(const RoleDevice& device, std::size_t bytes) {
  try {
    return device.host_memory(bytes);
  } catch (const DeviceError& error) {
    log_debug("run", "{}", error.what());
  } catch (const std::bad_alloc&) {
    log_debug("run", "host memory has no room for {} bytes", bytes);
  }
  return nullptr;
}

}  // namespace

Snapshot::Snapshot(RoleDevice& device, TakeMemory take_on_device)
    : device_(device), take_on_device_(std::move(take_on_device)), taken_(device.make_event()) {}

bool Snapshot::take(std::initializer_list<PlacedTensors*> groups) {
  const bool copies = has_room(room_needed(groups));
  std::byte* next = memory_.get();
  for (auto* tensors : groups) {
    for (auto& [name, tensor] : *tensors) {
      if (!copies) continue;
      const DeviceBytes copy{next, gpu_};
      device_.copy(device_.stream(), copy, tensor.place, tensor.bytes);
      tensor.place = copy;
      next += aligned(tensor.bytes);
    }
  }
  taken_.record(device_.stream());
  return copies;
}

bool Snapshot::has_room(std::size_t bytes) {
  if (bytes <= bytes_) return true;
  if (refused_ > 0 && bytes >= refused_) return false;
  memory_ = take_on_device_ ? take_on_device_(bytes) : nullptr;
  gpu_ = memory_ ? device_.gpu() : -1;
  if (!memory_) memory_ = take_in_host_memory(device_, bytes);
  bytes_ = memory_ ? bytes : 0;
  if (memory_) return true;
  refused_ = bytes;
  log_warning("run",
              "There is no room for a copy of {} on {} or in host memory: training waits while a "
              "checkpoint is written.",
              human_size(bytes), device_.name());
  return false;
}

}  // namespace myxtts
