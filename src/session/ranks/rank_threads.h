// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "parallel/world.h"
#include "session/run_inputs.h"
#include "session/training_run.h"

namespace myxtts {

// A training run whose ranks are threads of this process, each with a model device of its own,
// behind one data device:
//
//   RunInputs ──▶ thread of rank 0: RankTeam, TrainingRun     writes and speaks for all
//             ──▶ thread of rank 1: RankTeam, TrainingRun
//             ──▶ ...
//
// What they compute is what as many processes would. Everything it is given outlives it. One
// thread; stop() is any other's.
class RankThreads {
 public:
  // `plans` are open, one for each rank. Throws as TrainingRun does.
  RankThreads(const EffectiveConfig& settings, const std::vector<DevicePlan>& plans,
              const RunDirectory& run, CheckpointStore& checkpoints,
              const std::optional<Checkpoint>& resumed, const RunFrame& frame = {});

  // As TrainingRun's, start() included; what the first rank that failed ended with is thrown.
  bool train();
  bool out_of_time() const { return ending_.out_of_time; }
  void stop();

  TrainingState state() const { return ending_.state; }
  std::string summary() const { return ending_.summary; }

 private:
  // What rank 0 came to.
  struct Ending {
    bool whole = false;
    bool out_of_time = false;
    TrainingState state = {};
    std::string summary = {};
  };

  void run_rank(const World& world);
  void train_rank(RankTeam& team);
  void set_running(std::size_t place, TrainingRun* training);
  void keep_failure(std::exception_ptr failure);

  const EffectiveConfig& settings_;
  const RunDirectory& run_;
  CheckpointStore& checkpoints_;
  const std::optional<Checkpoint> resumed_;
  const RunFrame frame_;
  RunInputs inputs_;
  const std::size_t ranks_;
  Ending ending_;  // written by rank 0's thread

  // Everything below is guarded by mutex_.
  std::mutex mutex_;
  std::vector<TrainingRun*> running_;  // of each rank; null: not yet, or no more
  bool stopped_ = false;
  std::exception_ptr failure_;  // the first
};

}  // namespace myxtts
