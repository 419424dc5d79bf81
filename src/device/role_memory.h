// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"

namespace myxtts {

// What a device is used for: making batches out of sound, or training.
enum class Role { Data, Model };

// "data" or "model".
std::string name_of(Role role);

struct MemoryReading {
  std::int64_t reserved = 0;  // bytes taken from the device now
  std::int64_t peak = 0;      // the most at any time
  std::int64_t refused = 0;   // the last wish that went over the cap; 0: none did
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

  // The sentence for the last refused wish: role, device, cap, wish and the settings that help.
  DeviceError over_cap() const;

 private:
  const Role role_;
  const std::string device_;
  const std::optional<std::int64_t> cap_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  MemoryReading now_;
};

// Tells when memory that should be steady grows: more than 1 % over 1,000 steps after the warm-up.
class GrowthWatch {
 public:
  static constexpr std::int64_t kWarmUp = 100;   // steps
  static constexpr std::int64_t kWindow = 1000;  // steps

  // `stage` is who takes the memory, e.g. "the feature stage".
  explicit GrowthWatch(std::string stage) : stage_(std::move(stage)) {}

  // After every step, from 0. A sentence comes back once for each window that grew.
  std::optional<std::string> observe(std::int64_t step, std::int64_t bytes);

 private:
  const std::string stage_;
  std::int64_t window_start_ = kWarmUp;
  std::int64_t bytes_at_start_ = 0;
};

}  // namespace myxtts
