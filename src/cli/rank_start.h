// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "config/run_config.h"
#include "parallel/rank_team.h"

namespace myxtts {

// What a training does first where a launcher started it as one of several ranks: it keeps to its
// share of the cores, is quiet unless it is rank 0, and joins the others. Alone it does nothing.
class RankStart {
 public:
  // Throws ConfigError for settings that ranks cannot have, DeviceError when others do not come.
  explicit RankStart(const RunConfig& config);
  ~RankStart();

  RankTeam* team() const { return team_.get(); }  // null: alone

  // The run directory of this rank: rank 0 has `run`, the others one of their own in it, for their
  // logs.
  std::filesystem::path folder_of(const std::filesystem::path& run) const;

  // Calls `work`; of what it throws the other ranks are told, which then end with that cause.
  int share_failures(const std::function<int()>& work) const;

 private:
  std::unique_ptr<RankTeam> team_;
};

}  // namespace myxtts
