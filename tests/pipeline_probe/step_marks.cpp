// SPDX-License-Identifier: Apache-2.0
#include "step_marks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace myxtts::test {

namespace {

constexpr std::size_t kAhead = 2;  // steps, as in the pipeline

}  // namespace

void StepMarks::end_of_step(const RoleDevice& device, int kind) {
  marks_.push_back({.event = device.make_event(), .kind = kind});
  marks_.back().event.record(device.stream());
  if (marks_.size() > kAhead + 1) marks_[marks_.size() - 1 - kAhead].event.wait();
}

void StepMarks::finish() const {
  if (!marks_.empty()) marks_.back().event.wait();
}

nlohmann::ordered_json StepMarks::spread(int kind, std::size_t skipped) const {
  std::vector<double> times;
  for (std::size_t i = 1; i < marks_.size(); ++i) {
    if (marks_[i].kind != kind) continue;
    times.push_back(marks_[i].event.milliseconds_since(marks_[i - 1].event));
  }
  times.erase(times.begin(),
              times.begin() + static_cast<std::ptrdiff_t>(std::min(skipped, times.size())));
  if (times.empty()) return {{"steps", 0}};
  const auto count = static_cast<double>(times.size());
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / count;
  double squares = 0;
  for (const double time : times) squares += (time - mean) * (time - mean);
  nlohmann::ordered_json in_order = times;
  std::ranges::sort(times);
  return {{"steps", times.size()},
          {"mean_ms", mean},
          {"median_ms", times[times.size() / 2]},
          {"std_over_mean", std::sqrt(squares / count) / mean},
          {"least_ms", times.front()},
          {"most_ms", times.back()},
          {"each_ms", in_order}};
}

}  // namespace myxtts::test
