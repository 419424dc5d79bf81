// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "train/observer.h"

namespace myxtts {

// Adds up what the summary at the end of a run tells. The trainer's thread.
class RunTally final : public TrainingObserver {
 public:
  static constexpr std::size_t kFew = 10;  // steps that a loss is the mean of, at most

  void stepped(const StepReport& report) override;
  void evaluated(const EvaluationReport&) override {}

  double audio_seconds() const { return audio_seconds_; }
  std::optional<double> first_loss() const;  // of the first few steps that counted
  std::optional<double> last_loss() const;   // of the last few

 private:
  std::size_t few() const;

  std::size_t steps_ = 0;  // that counted
  double audio_seconds_ = 0;
  std::deque<double> first_;
  std::deque<double> last_;
};

}  // namespace myxtts
