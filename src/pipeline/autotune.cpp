// SPDX-License-Identifier: Apache-2.0
#include "pipeline/autotune.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace myxtts {
namespace {

constexpr double kStarved = 0.05;         // of the batcher's time spent waiting for a batch
constexpr double kAllBusy = 0.80;         // of the clip loaders' time
constexpr double kTimeToSpare = 0.5;      // clip loaders busy for less than that
constexpr double kOftenFull = 0.2;        // of the reader's time spent waiting for a place
constexpr std::size_t kMostBuffer = 200;  // batches
constexpr std::int64_t kBatches = 16;     // at least, between decisions
constexpr double kWorthIt = 1.05;         // batches a second, after an addition

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

double ratio(double part, double all) {
  return all > 0 ? part / all : 0;
}

}  // namespace

bool Autotune::is_due(std::int64_t batches, Clock::Time now) const {
  return !last_ || (now - last_at_ >= interval_ && batches - last_->batches >= kBatches);
}

std::optional<TuneDecision> Autotune::update(const PipelineReading& reading, Clock::Time now) {
  if (!is_due(reading.batches, now)) return std::nullopt;
  const std::optional<PipelineReading> before = std::exchange(last_, reading);
  const double passed = seconds(now - std::exchange(last_at_, now));
  if (!before || std::exchange(just_changed_, false)) return std::nullopt;

  const LoadReading batcher = reading.stage("batcher").load - before->stage("batcher").load;
  const LoadReading loaders = reading.stage("decoder").load - before->stage("decoder").load;
  const double starved = ratio(seconds(batcher.waiting_for_input), passed);
  const double busy =
      ratio(seconds(loaders.busy), seconds(loaders.busy + loaders.waiting_for_input));
  const LoadReading reader = reading.stage("reader").load - before->stage("reader").load;
  const double full = ratio(seconds(reader.waiting_for_output), passed);
  const double rate = ratio(static_cast<double>(reading.batches - before->batches), passed);

  std::optional<TuneDecision> decision = end_trial(rate);
  if (!decision) decision = more_workers(starved, busy, reading.stage("decoder").workers, rate);
  if (!decision && full > kOftenFull) {
    decision = more_buffer(starved, busy, reading.queue("buffer"));
  }
  just_changed_ = decision.has_value();
  return decision;
}

std::optional<TuneDecision> Autotune::end_trial(double batches_a_second) {
  const std::optional<std::size_t> workers = std::exchange(workers_before_, std::nullopt);
  if (!workers || batches_a_second >= kWorthIt * batches_a_second_before_) return std::nullopt;
  workers_are_final_ = true;
  return TuneDecision{.workers = workers,
                      .reason = fmt::format(
                          "back to {} clip loaders: more of them gave {:.1f} batches/s in place of "
                          "{:.1f}, so it is not clip loaders that are lacking",
                          *workers, batches_a_second, batches_a_second_before_)};
}

std::optional<TuneDecision> Autotune::more_workers(double starved, double busy, std::size_t workers,
                                                   double batches_a_second) {
  if (!tunes_workers_ || workers_are_final_ || workers >= most_workers_) return std::nullopt;
  if (starved < kStarved || busy < kAllBusy) return std::nullopt;
  workers_before_ = workers;
  batches_a_second_before_ = batches_a_second;
  const std::size_t more = std::min(workers + (workers + 1) / 2, most_workers_);
  return TuneDecision{.workers = more,
                      .reason = fmt::format(
                          "{} clip loaders in place of {}: they are busy {:.0f} % of the time, and "
                          "batches are waited for {:.0f} % of it",
                          more, workers, 100 * busy, 100 * starved)};
}

std::optional<TuneDecision> Autotune::more_buffer(double starved, double busy,
                                                  const QueueReading& buffer) {
  if (!tunes_buffer_ || buffer.capacity >= kMostBuffer) return std::nullopt;
  if (starved < kStarved || busy > kTimeToSpare) return std::nullopt;
  const std::size_t more = std::min(2 * buffer.capacity, kMostBuffer);
  return TuneDecision{.buffer = more,
                      .reason = fmt::format(
                          "a buffer of {} batches in place of {}: batches are waited for {:.0f} % "
                          "of the time though clip loaders are busy only {:.0f} % of it",
                          more, buffer.capacity, 100 * starved, 100 * busy)};
}

}  // namespace myxtts
