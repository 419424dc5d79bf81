// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/clock.h"
#include "pipeline/pipeline_options.h"
#include "pipeline/pipeline_reading.h"

namespace myxtts {

// What to change, and why, as a sentence for the log.
struct TuneDecision {
  std::optional<std::size_t> workers = {};
  std::optional<std::size_t> buffer = {};
  std::string reason = {};
};

// Looks at the stages' waiting meters while they run and says how many clip loaders and how large a
// buffer they need. Neither has an influence on what a batch holds or on their order.
//
// Note [Autotune converges]
// Workers are added while batches are waited for and every clip loader is busy, half as many again
// at a time. When the next decision finds less than 5 % more batches a second, clip loaders were
// not what was lacking (the disk was, or the cores): the addition is taken back and nothing is
// added for the rest of the run. Otherwise it stays. The buffer is doubled while batches are waited
// for although the clip loaders have time to spare and it is full at other times: then it is the
// unevenness of clips that has to be bridged. Nothing else is ever taken back, so there are at most
// log(most) changes of each kind and one step back: it cannot oscillate. What is not lacking is not
// removed: an idle worker costs nothing.
//
// One thread at a time.
class Autotune {
 public:
  // Changes the workers where the options allow more than they begin with, and the buffer where it
  // may be tuned; `interval` is at least between two decisions.
  explicit Autotune(const PipelineOptions& options,
                    std::chrono::nanoseconds interval = std::chrono::milliseconds(500))
      : most_workers_(options.most_workers),
        tunes_workers_(options.most_workers > options.workers),
        tunes_buffer_(options.tune_buffer),
        interval_(interval) {}

  // After each batch. Nothing: go on as before.
  std::optional<TuneDecision> update(const PipelineReading& reading, Clock::Time now);

  // Whether update() would do more than wait. Cheap.
  bool is_due(std::int64_t batches, Clock::Time now) const;

 private:
  std::optional<TuneDecision> end_trial(double batches_a_second);
  std::optional<TuneDecision> more_workers(double starved, double busy, std::size_t workers,
                                           double batches_a_second);
  std::optional<TuneDecision> more_buffer(double starved, double busy, const QueueReading& buffer);

  const std::size_t most_workers_;
  const bool tunes_workers_;
  const bool tunes_buffer_;
  const std::chrono::nanoseconds interval_;
  std::optional<PipelineReading> last_;
  Clock::Time last_at_{};
  bool just_changed_ =
      false;  // the interval after a change measures a mixture: it only starts the next

  // Of an addition of workers that has to prove itself; nothing: there is none.
  std::optional<std::size_t> workers_before_;
  double batches_a_second_before_ = 0;
  bool workers_are_final_ = false;
};

}  // namespace myxtts
