// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "run/checkpoint_saver.h"
#include "session/feed/batch_feed.h"
#include "session/ranks/rank_agreement.h"
#include "session/run_devices.h"
#include "session/run_monitor.h"
#include "session/save_schedule.h"
#include "train/trainer.h"

namespace myxtts {

// Thrown in the middle of a step or a measurement that nobody waits for any more. A standard
// exception, since autograd hands on no others.
class GivenUp final : public std::exception {};

// What the loop joins. All of it outlives the loop.
struct LoopParts {
  const RunConfig& config;
  const RunData& data;
  const RunDevices& devices;
  BatchFeed& feed;                                              // started
  std::function<std::shared_ptr<BatchFeed>()> validation_feed;  // a new one
  Trainer& trainer;
  CheckpointSaver& saver;
  std::function<std::uint64_t()> metrics_position;  // bytes of metrics.jsonl that were written
  std::optional<Clock::Time> deadline = {};         // training ends there, to be continued
  RankTeam* team = nullptr;                         // the other ranks, where there are some
  std::function<double()> waited_for_ranks = [] { return 0.0; };  // seconds, since the last call
  std::function<bool()> settle = [] { return true; };  // StageTraining's, where a rank is lost
};

// Trains from the feed until the last step, and on the way measures and saves when that is due:
//
//   batch ▶ step ▶ (measure ▶ keep the best) ▶ (save) ▶ next batch ... ▶ measure ▶ save
//
// A checkpoint is made between two steps, after every step before it was heard of, so that nothing
// of it lags. run() is the trainer's thread; stop() any other's.
//
// Where a run has several ranks, they agree before each batch whether to go on and whether its step
// is saved, so that all do the same; rank 0 alone writes.
class TrainingLoop {
 public:
  // Measures first where the checkpoint that is continued was made before its measurement's end.
  TrainingLoop(const LoopParts& parts, const TrainingState& start);

  enum class Ending { Done, Stopped, OutOfTime };

  // The last checkpoint was asked for when it returns, in either case; CheckpointSaver::finish()
  // tells whether it could be written. Throws what a stage or the trainer throws.
  // Where another rank is lost, rank 0 keeps what all had done together, if that is to be had.
  Ending run();

  // run() ends with the batch it is at, whatever it waits for.
  void stop();

 private:
  Ending run_to_end();
  void keep_what_was_done();
  bool measurement_is_missing() const;
  bool train();
  std::optional<BatchFeed::Slot> next_batch();
  bool agreed_to_go_on(DeviceBatch& batch);
  bool step(DeviceBatch& batch);
  void after_step(DataPosition position);
  bool measure();
  void save();
  void write(CheckpointContents contents);
  bool stopped() const;  // this rank
  bool is_stopped() const;
  bool gives_up() const;
  bool is_late() const;

  LoopParts parts_;
  SaveRhythm saving_;
  MeasureRhythm measuring_;
  std::optional<MemoryWatch> memory_;
  bool has_measured_ = false;
  bool out_of_time_ = false;
  std::int64_t measured_ = -1;  // step
  const TrainingState start_;
  RankAgreement agreed_;  // about the batch at work, where there are ranks
  RankTimes times_;       // of this rank, for its next note
  StragglerWatch stragglers_;
  HourlyWarnings warnings_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  bool stopped_ = false;
  BatchFeed* validation_ = nullptr;  // while it measures
};

}  // namespace myxtts
