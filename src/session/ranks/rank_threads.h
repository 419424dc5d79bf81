// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "parallel/rank_team.h"
#include "session/run_inputs.h"
#include "session/training_run.h"

namespace myxtts {

// The ranks that this process trains, all from the same inputs. One trains in the thread that asks
// for it; several are threads, each with a model device of its own behind one data device:
//
//   RunInputs ──▶ thread of rank 0: RankTeam, TrainingRun     writes and reports for all
//             ──▶ thread of rank 1: RankTeam, TrainingRun
//             ──▶ ...
//
// What they compute is what as many processes would. Everything it is given outlives it. One
// thread; stop() is any other's.
class RankThreads {
 public:
  // `team` is that of the only rank; several make their own.
  RankThreads(RunInputs& inputs, CheckpointStore& checkpoints, RunOptions options = {},
              RankTeam& team = RankTeam::alone());

  // As TrainingRun's, from its constructor on; of several ranks, what the first that failed ended
  // with is thrown.
  Ending train();
  void stop();

  // Of the first of these ranks, once train() has returned.
  const TrainingState& state() const { return state_; }
  const RunSummary& summary() const { return summary_; }

 private:
  void train_in_threads();
  void run_rank(const World& world);
  void train_rank(RankTeam& team);
  void set_running(std::size_t place, TrainingRun* training);
  void keep_failure(std::exception_ptr failure);

  RunInputs& inputs_;
  CheckpointStore& checkpoints_;
  const RunOptions options_;
  RankTeam& team_;

  // Written by the thread of the first rank.
  Ending ending_ = Ending::Done;
  TrainingState state_;
  RunSummary summary_;

  // Everything below is guarded by mutex_.
  std::mutex mutex_;
  std::vector<TrainingRun*> running_;  // of each rank; null: not yet, or no more
  bool stopped_ = false;
  std::exception_ptr failure_;  // the first
};

}  // namespace myxtts
