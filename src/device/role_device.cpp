// SPDX-License-Identifier: Apache-2.0
#include "device/role_device.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/message_text.h"

namespace myxtts {
namespace {

constexpr std::int64_t kDecimalMegabyte = 1'000'000;
constexpr double kGrowthAllowed = 0.01;

std::string size_of(std::int64_t bytes) {
  return human_size(bytes);
}

// The next multiple of 256 MB: a cap that a person would type.
std::int64_t cap_to_type(std::int64_t bytes) {
  constexpr std::int64_t kStep = 256;
  return (bytes / kDecimalMegabyte / kStep + 1) * kStep;
}

}  // namespace

std::string name_of(Role role) {
  return role == Role::Data ? "data" : "model";
}

RoleMemory::RoleMemory(Role role, std::string device, std::optional<std::int64_t> cap)
    : role_(role), device_(std::move(device)), cap_(cap) {
  now_.cap = cap;
}

bool RoleMemory::try_take(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (cap_ && now_.reserved + bytes > *cap_) {
    now_.refused = bytes;
    return false;
  }
  now_.refused = 0;  // an earlier refusal was survived: the cache made room
  now_.reserved += bytes;
  now_.peak = std::max(now_.peak, now_.reserved);
  return true;
}

void RoleMemory::give_back(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  now_.reserved -= bytes;
}

MemoryReading RoleMemory::read() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

DeviceError RoleMemory::over_cap() const {
  const MemoryReading now = read();
  const std::string smaller =
      role_ == Role::Data ? "--batch-size" : "--batch-size or --prefetch-buffer-size";
  return DeviceError(
      fmt::format("The {0} role wants {1} more on {2}, where it holds {3} and may have {4} "
                  "(--{0}-gpu-memory). Give it --{0}-gpu-memory {5}, or lower {6}.",
                  name_of(role_), size_of(now.refused), device_, size_of(now.reserved),
                  size_of(now.cap.value_or(0)), cap_to_type(now.reserved + now.refused), smaller));
}

namespace {

bool is_leak(const std::deque<std::int64_t>& leasts) {
  if (leasts.size() <= GrowthWatch::kGrowths) return false;
  std::vector<std::int64_t> growths;
  for (std::size_t i = 1; i < leasts.size(); ++i) {
    growths.push_back(leasts[i] - leasts[i - 1]);
    const auto allowed = kGrowthAllowed * static_cast<double>(leasts[i - 1]);
    if (static_cast<double>(growths.back()) <= allowed) return false;
  }
  return 2 * growths.back() >= growths.front();
}

}  // namespace

std::optional<std::string> GrowthWatch::observe(std::int64_t step, std::int64_t bytes) {
  if (step < kWarmUp) return std::nullopt;
  least_ = std::min(least_.value_or(bytes), bytes);
  if (step < window_end_) return std::nullopt;
  window_end_ = step + kWindow;
  leasts_.push_back(*std::exchange(least_, std::nullopt));
  if (leasts_.size() > kGrowths + 1) leasts_.pop_front();
  if (!is_leak(leasts_)) return std::nullopt;
  return fmt::format(
      "The memory of {} grew from {} to {} over {} steps, in every {} of them; it should be "
      "steady. Before it is used up, end the run and continue it with --resume, and report this.",
      stage_, size_of(leasts_.front()), size_of(leasts_.back()),
      human_count(static_cast<std::int64_t>(kGrowths) * kWindow), human_count(kWindow));
}

DeviceError failed_device(Role role, const std::string& device, std::string_view cause) {
  cause = cause.substr(0, cause.find('\n'));
  while (cause.ends_with('.')) cause.remove_suffix(1);
  return DeviceError(fmt::format("The {} role failed on {}: {}. {}", name_of(role), device, cause,
                                 kAfterALostDevice));
}

}  // namespace myxtts
