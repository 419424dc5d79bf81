// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_start.h"

#include <chrono>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "parallel/core_share.h"
#include "parallel/world.h"

namespace myxtts {
namespace {

// What one process alone can do. Each sentence says what to type.
void refuse_what_ranks_cannot(const RunConfig& config) {
  const std::string ranks = "With several ranks ";
  if (config.devices.mode == Mode::Auto) {
    throw ConfigError(ranks + "--mode auto cannot measure placements; name one, as in --mode cpu.");
  }
  if (config.train.stages) {
    throw ConfigError(ranks +
                      "the stage gpt alone is trained so far; give --stage gpt in place of "
                      "--stages.");
  }
  if (config.train.stage_budget) {
    throw ConfigError(ranks +
                      "--stage-budget has no meaning, as the stage gpt alone is trained; "
                      "give --max-steps or --max-minutes.");
  }
}

}  // namespace

RankStart::RankStart(const RunConfig& config) {
  const std::optional<World> world = world_of(process_environment());
  if (!world) return;
  refuse_what_ranks_cannot(config);
  keep_to_share_of_cores(*world);
  if (!world->leads()) configure_log({.level = LogLevel::Warning, .progress = false});
  const auto timeout = std::chrono::duration<double>(config.parallel.rank_timeout);
  team_ = std::make_unique<RankTeam>(
      *world,
      RankTeamSettings{.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout)});
  log_info("ranks", "{} ranks train one model; this is rank 0", world->size);
}

RankStart::~RankStart() = default;

std::filesystem::path RankStart::folder_of(const std::filesystem::path& run) const {
  if (team_ == nullptr || team_->world().leads()) return run;
  return run / "ranks" / fmt::format("rank-{}", team_->world().rank);
}

int RankStart::share_failures(const std::function<int()>& work) const {
  if (team_ == nullptr) return work();
  try {
    return work();
  } catch (const std::exception& error) {
    team_->say_why(error.what());
    throw;
  }
}

}  // namespace myxtts
