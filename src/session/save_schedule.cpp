// SPDX-License-Identifier: Apache-2.0
#include "session/save_schedule.h"

#include <chrono>

namespace myxtts {
namespace {

std::optional<Clock::Time::duration> minutes_of(const RunDirectoryConfig& config) {
  if (!config.save_minutes) return std::nullopt;
  return std::chrono::duration_cast<Clock::Time::duration>(
      std::chrono::duration<double, std::ratio<60>>(*config.save_minutes));
}

}  // namespace

SaveSchedule::SaveSchedule(const RunDirectoryConfig& config, const Clock& clock)
    : steps_(config.save_steps), time_(minutes_of(config)), clock_(clock), since_(clock.now()) {}

bool SaveSchedule::due(std::int64_t step) const {
  if (step == last_) return false;
  return (steps_ && step % *steps_ == 0) || (time_ && clock_.now() - since_ >= *time_);
}

void SaveSchedule::saved(std::int64_t step) {
  last_ = step;
  since_ = clock_.now();
}

}  // namespace myxtts
