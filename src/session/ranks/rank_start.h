// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "device/plan/device_plan.h"
#include "parallel/rank_team.h"

namespace myxtts {

// Ranks of this program on this host.
struct RankLaunch {
  int ranks = 1;
  std::vector<std::string> arguments = {};  // that each gets, the command first
  std::optional<int> port = {};             // where rank 0 listens; nothing: a free one
};

// Starts them, stays until the last has ended, and tells the first cause where one has failed.
// Gives the exit code. Throws DeviceError.
int launch_ranks(const RankLaunch& launch);

// What this process was started with, without the program's name.
std::vector<std::string> own_arguments();

// What a training does first where a launcher started it as one of several ranks: it keeps to its
// share of the cores, is quiet unless it is rank 0, and joins the others. Alone it does nothing.
// The settings outlive it.
class RankStart {
 public:
  // Before anything is planned. Throws ConfigError for settings that ranks cannot have.
  explicit RankStart(const RunConfig& config);
  ~RankStart();

  // The settings of this rank's own device plan: the configuration, with its GPU where the launcher
  // leaves the choice to us.
  RunConfig own_settings() const;

  // Whether this process is to start the ranks in place of training.
  bool starts_processes() const;

  // Throws DeviceError when others do not come, or have planned other batches.
  void join(const DevicePlan& plan);

  RankTeam* team() const { return team_.get(); }  // null: alone

  // The run directory of this rank: rank 0 has `run`, the others one of their own in it, for their
  // logs.
  std::filesystem::path folder_of(const std::filesystem::path& run) const;

  // A command, such as that which continues the run, as these ranks are started with it.
  std::string started(const std::string& command) const;

  // Of a file that every rank writes: trace.json of rank 0, trace.rank-1.json of the next.
  std::filesystem::path own_file(const std::filesystem::path& file) const;

  // Calls `work`; of what it throws the other ranks are told, which then end with that cause.
  int share_failures(const std::function<int()>& work) const;

 private:
  const RunConfig& config_;
  const std::optional<World> world_;
  std::unique_ptr<RankTeam> team_;
};

}  // namespace myxtts
