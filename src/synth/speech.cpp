// SPDX-License-Identifier: Apache-2.0
#include "synth/speech.h"

#include <utility>

namespace myxtts {

bool Speech::add(std::span<const float> samples) {
  const std::lock_guard lock(mutex_);
  if (is_cancelled_) return false;
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  changed_.notify_one();
  return true;
}

void Speech::finish(std::int64_t codes) {
  const std::lock_guard lock(mutex_);
  codes_ = codes;
  has_ended_ = true;
  changed_.notify_one();
}

void Speech::fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  has_ended_ = true;
  changed_.notify_one();
}

bool Speech::is_cancelled() const {
  const std::lock_guard lock(mutex_);
  return is_cancelled_;
}

std::optional<std::vector<float>> Speech::next(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, wait, [this] { return has_ended_ || !samples_.empty(); })) return {};
  if (samples_.empty() && failure_) std::rethrow_exception(failure_);
  return std::exchange(samples_, {});
}

std::int64_t Speech::codes() const {
  const std::lock_guard lock(mutex_);
  return codes_;
}

void Speech::cancel() {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = true;
  samples_.clear();
}

}  // namespace myxtts
