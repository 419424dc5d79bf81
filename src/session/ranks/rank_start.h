// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "device/plan/device_plan.h"
#include "parallel/rank_team.h"
#include "run/checkpoint_store.h"
#include "run/run_directory.h"
#include "session/run_inputs.h"
#include "session/training_run.h"

namespace myxtts {

// Starts so many ranks of this program on this host with `arguments`, the command first, stays
// until the last has ended, and reports the first cause where one has failed. Rank 0 listens on
// `port`, or on a free one. Gives the exit code. Throws DeviceError.
int launch_ranks(int ranks, std::vector<std::string> arguments, std::optional<int> port = {});

// What this process was started with, without the program's name.
std::vector<std::string> own_arguments();

// This process among the ranks of a training. Where a launcher started it as one of several, it
// keeps to its share of the cores, is quiet unless it is rank 0, and joins the others; else it is a
// team of one. The settings outlive it.
class RankStart {
 public:
  // Before anything is planned. Throws ConfigError for settings that ranks cannot have.
  explicit RankStart(const RunConfig& config);
  ~RankStart();

  // Whether this process is to start the ranks in place of training.
  bool starts_processes() const;

  // A plan for each rank of this process, without --mode auto; a rank of a launcher takes the GPU
  // of its place where the settings leave the choice to us. Opens nothing. Throws ConfigError,
  // DeviceError.
  std::vector<DevicePlan> plan(const RunConfig& config) const;

  // Throws DeviceError when others do not come, or have planned other batches.
  void join(const DevicePlan& plan);

  RankTeam& team() const { return *team_; }
  bool leads() const { return team_->world().leads(); }

  // The checkpoint that the run goes on from; nothing: it begins. Rank 0 looks for it, and all
  // begin with the same. Throws as find_starting_point() does, and DataError where a rank cannot
  // see it.
  std::optional<Checkpoint> starting_point(const RunDirectory& run, const CheckpointStore& store,
                                           const RunConfig& config) const;

  // The run directory of this rank: rank 0 has `run`, the others one of their own in it, for their
  // logs.
  std::filesystem::path folder_of(const std::filesystem::path& run) const;

  // A command, such as that which continues the run, as these ranks are started with it.
  std::string started(const std::string& command) const;

  // Of a file that every rank writes: trace.json of rank 0, trace.rank-1.json of the next.
  std::filesystem::path own_file(const std::filesystem::path& file) const;

  // Calls `work`; the other ranks end with the cause of what it throws.
  int share_failures(const std::function<int()>& work) const;

 private:
  const RunConfig& config_;
  const std::optional<World> world_;
  std::unique_ptr<RankTeam> team_;
};

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
