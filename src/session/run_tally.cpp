// SPDX-License-Identifier: Apache-2.0
#include "session/run_tally.h"

#include <algorithm>
#include <numeric>

namespace myxtts {
namespace {

template <typename Iterator>
double mean_of(Iterator first, std::size_t count) {
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(count), 0.0) /
         static_cast<double>(count);
}

}  // namespace

void RunTally::stepped(const StepReport& report) {
  audio_seconds_ += report.audio_seconds;
  if (report.numbers.skipped) return;
  ++steps_;
  if (first_.size() < kFew) first_.push_back(report.numbers.loss);
  last_.push_back(report.numbers.loss);
  if (last_.size() > kFew) last_.pop_front();
}

// A run of a few steps has a first and a second half.
std::size_t RunTally::few() const {
  return std::clamp<std::size_t>(steps_ / 2, 1, kFew);
}

std::optional<double> RunTally::first_loss() const {
  if (steps_ == 0) return std::nullopt;
  return mean_of(first_.begin(), few());
}

std::optional<double> RunTally::last_loss() const {
  if (steps_ == 0) return std::nullopt;
  return mean_of(last_.rbegin(), few());
}

}  // namespace myxtts
