// SPDX-License-Identifier: Apache-2.0
#include "session/run_tally.h"

#include <numeric>

namespace myxtts {
namespace {

std::optional<double> mean_of(const std::deque<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

void RunTally::stepped(const StepReport& report) {
  audio_seconds_ += report.audio_seconds;
  if (report.numbers.skipped) return;
  if (first_.size() < kFew) first_.push_back(report.numbers.loss);
  last_.push_back(report.numbers.loss);
  if (last_.size() > kFew) last_.pop_front();
}

std::optional<double> RunTally::first_loss() const {
  return mean_of(first_);
}

std::optional<double> RunTally::last_loss() const {
  return mean_of(last_);
}

}  // namespace myxtts
