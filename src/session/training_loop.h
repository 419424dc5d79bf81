// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "session/ranks/rank_agreement.h"
#include "session/run_inputs.h"
#include "session/run_monitor.h"
#include "session/save_schedule.h"
#include "session/wired_training.h"

namespace myxtts {

// How a training ends: after its last step, by stop(), or when its minutes are over.
enum class Ending { Done, Stopped, OutOfTime };

// Trains from the feed until the last step, and validates and saves when that is due:
//
//   batch ▶ step ▶ (validate ▶ keep the best) ▶ (save) ▶ next batch ... ▶ validate ▶ save
//
// A checkpoint is made between two steps, once every step before it was reported, so that nothing
// of it lags. run() is the trainer's thread; stop() any other's.
//
// The ranks of a run agree before each batch whether to go on and whether its step is saved, so
// that all do the same; rank 0 alone writes.
class TrainingLoop {
 public:
  // `feed` is started before run(). Training ends at `deadline`, to be continued.
  // `metrics_position` gives the bytes of metrics.jsonl that were written. All of it outlives the
  // loop. Validates first where the checkpoint that is continued was made before its validation's
  // end.
  TrainingLoop(WiredTraining& parts, BatchFeed& feed, std::optional<Clock::Time> deadline,
               std::function<std::uint64_t()> metrics_position);

  // The last checkpoint was asked for when it returns, in either case; CheckpointSaver::finish()
  // says whether it could be written. Throws what a stage or the trainer throws.
  // Where another rank is lost, rank 0 keeps what all had done together, if that is to be had.
  Ending run();

  // run() ends with the batch it is at, whatever it waits for.
  void stop();

 private:
  Ending run_to_end();
  void save_what_was_done();
  bool validation_is_missing() const;
  bool train();
  std::optional<BatchFeed::Slot> next_batch();
  bool agreed_to_go_on(DeviceBatch& batch);
  bool step(DeviceBatch& batch);
  void after_step(DataPosition position);
  bool validate();
  bool is_kept(const EvaluationReport& report) const;
  void save();
  void write(CheckpointContents contents);
  bool was_told_to_stop() const;  // this rank
  bool stops_at_once() const;
  bool is_stopped() const;
  bool gives_up() const;
  bool deadline_is_over() const;
  bool is_late() const;
  void watch_memory(std::int64_t first_step);

  WiredTraining& parts_;
  BatchFeed& feed_;
  const std::optional<Clock::Time> deadline_;
  const std::function<std::uint64_t()> metrics_position_;
  SaveSchedule saving_;
  const std::optional<std::int64_t> eval_steps_;  // nothing: once an epoch
  std::optional<MemoryWatch> data_memory_;
  std::optional<MemoryWatch> model_memory_;
  bool has_validated_ = false;
  bool out_of_time_ = false;
  std::int64_t validated_ = -1;  // step
  RankNote agreed_;              // about the batch at work
  RankTimes times_;              // of this rank, for its next note
  StragglerWatch stragglers_;
  HourlyWarnings warnings_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  bool stopped_ = false;
  BatchFeed* validation_ = nullptr;  // while it validates
};

}  // namespace myxtts
