// SPDX-License-Identifier: Apache-2.0
#include "parallel/stall_watch.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace myxtts {
namespace {

using namespace std::chrono_literals;
using Steady = std::chrono::steady_clock;

constexpr auto kBetweenLooks = 100ms;
constexpr auto kBetweenGlances = 5ms;  // of somebody who waits

}  // namespace

StallWatch::StallWatch(RoleDevice& device, std::function<bool()> rank_is_lost,
                       std::function<void()> give_up, std::chrono::milliseconds timeout,
                       std::chrono::milliseconds patience)
    : device_(device),
      rank_is_lost_(std::move(rank_is_lost)),
      give_up_(std::move(give_up)),
      timeout_(timeout),
      patience_(patience) {}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ends_soon_.notify_all();
  try {
    threads_.join();
  } catch (const std::exception& error) {
    log_error("ranks", "{}", error.what());
  }
}

void StallWatch::start() {
  threads_.start("stall watch", [this] { watch(); });
}

void StallWatch::mark() {
  const std::lock_guard lock(mutex_);
  Event event = unused_.empty() ? device_.make_event() : std::move(unused_.back());
  if (!unused_.empty()) unused_.pop_back();
  event.record(device_.stream());
  if (marks_.empty()) moved_ = Steady::now();
  marks_.push_back(std::move(event));
}

bool StallWatch::wait_for_marks() {
  std::unique_lock lock(mutex_);
  const auto until = Steady::now() + patience_;
  while (!reached_all() && !gave_up_ && Steady::now() < until) {
    ends_soon_.wait_for(lock, kBetweenGlances);
  }
  if (!reached_all()) end_waiting();
  return !gave_up_;
}

bool StallWatch::gave_up() const {
  const std::lock_guard lock(mutex_);
  return gave_up_;
}

void StallWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (!reached_all() && stands_still()) end_waiting();
    ends_soon_.wait_for(lock, kBetweenLooks, [this] { return ends_; });
  }
}

// A device that has failed gets nowhere: nothing is left to wait for.
bool StallWatch::reached_all() {
  try {
    while (!marks_.empty() && marks_.front().completed()) {
      unused_.push_back(std::move(marks_.front()));
      marks_.pop_front();
      moved_ = Steady::now();
    }
  } catch (const std::exception& error) {
    log_debug("ranks", "{}", error.what());
    marks_.clear();
    end_waiting();
  }
  return marks_.empty();
}

bool StallWatch::stands_still() const {
  const auto allowed = rank_is_lost_() ? std::min(patience_, timeout_) : timeout_;
  return Steady::now() - moved_ >= allowed;
}

void StallWatch::end_waiting() {
  if (std::exchange(gave_up_, true)) return;
  give_up_();
}

}  // namespace myxtts
