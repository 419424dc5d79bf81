// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "config/run_config.h"

namespace myxtts {

// When a run writes checkpoints: every so many steps, every so many minutes, or both. What it says
// never changes what is trained. The clock outlives it.
class SaveSchedule {
 public:
  explicit SaveSchedule(const RunDirectoryConfig& config, const Clock& clock = system_clock())
      : steps_(config.save_steps), clock_(clock), since_(clock.now()) {
    if (config.save_minutes) {
      time_ = std::chrono::duration_cast<Clock::Time::duration>(
          std::chrono::duration<double, std::ratio<60>>(*config.save_minutes));
    }
  }

  // Whether a checkpoint of this step is to be written now.
  bool due(std::int64_t step) const {
    if (step == last_) return false;
    return (steps_ && step % *steps_ == 0) || (time_ && clock_.now() - since_ >= *time_);
  }

  void saved(std::int64_t step) {
    last_ = step;
    since_ = clock_.now();
  }
  std::int64_t last() const { return last_; }  // step

 private:
  const std::optional<std::int64_t> steps_;
  std::optional<Clock::Time::duration> time_;
  const Clock& clock_;
  Clock::Time since_;
  std::int64_t last_ = -1;
};

// Whether a run validates after this step: every `eval_steps`, or at the end of each epoch.
inline bool validation_is_due(std::optional<std::int64_t> eval_steps, std::int64_t step,
                              bool ends_epoch) {
  return eval_steps ? step % *eval_steps == 0 : ends_epoch;
}

}  // namespace myxtts
