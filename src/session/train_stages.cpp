// SPDX-License-Identifier: Apache-2.0
#include "session/train_stages.h"

#include <csignal>
#include <vector>

#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "device/plan/device_plan.h"
#include "run/run_directory.h"
#include "session/console.h"
#include "session/plan_run.h"
#include "session/ranks/rank_threads.h"
#include "session/run_report.h"
#include "session/stage_chain.h"
#include "session/trial/auto_placement.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

struct RunStart {
  const RunDirectory& run;
  CheckpointStore& checkpoints;
  std::optional<Checkpoint> resumed;
};

bool leads(const RunFrame& frame) {
  return frame.team == nullptr || frame.team->world().leads();
}

// Of several ranks the first looks, and tells the others, so that all begin with the same. A
// launcher that starts lost ranks anew wants them to go on.
std::optional<Checkpoint> starting_point(const RunDirectory& run, const CheckpointStore& store,
                                         const RunConfig& config, RankTeam* team) {
  std::optional<std::string> resume = config.run.resume;
  if (!resume && team != nullptr && team->world().restarts > 0) resume = "latest";
  std::optional<Checkpoint> found;
  if (team == nullptr || team->world().leads()) {
    found = find_starting_point(run, store, resume, config.train.stage);
  }
  if (team == nullptr) return found;
  const std::string folder = team->broadcast(found ? fs::absolute(found->folder).string() : "");
  const std::string step = team->broadcast(found ? std::to_string(found->step) : "0");
  if (folder.empty()) return std::nullopt;
  if (!fs::exists(folder)) {
    throw DataError(fmt::format(
        "Rank {} cannot see {}, which rank 0 continues with: --checkpoint-dir must be a folder "
        "that every host sees under the same name.",
        team->world().rank, folder));
  }
  return Checkpoint{.folder = folder, .step = std::stoll(step)};
}

template <typename Training>
StageEnding ending_of(const Training& training, bool whole, const Interruption& interruption) {
  if (whole) return {.state = training.state()};
  if (training.out_of_time()) {
    return {.kind = StageEnding::Kind::OutOfTime, .state = training.state()};
  }
  const int signal = interruption.signal();
  return {.kind = StageEnding::Kind::Interrupted,
          .signal = signal != 0 ? signal : SIGTERM,  // none: another rank was told to end
          .state = training.state()};
}

StageEnding train_as_planned(const EffectiveConfig& settings, const DevicePlan& planned,
                             const RunStart& start, const RunFrame& frame) {
  const DevicePlan plan = open_and_tell(planned);
  if (leads(frame)) write_plan(plan, start.run.path());
  TrainingRun training(settings, plan, start.run, start.checkpoints, start.resumed, frame);
  const Interruption interruption;
  const InterruptionWatch watch([&training] { training.stop(); });
  training.start();
  const bool whole = training.train();
  if (leads(frame)) print(training.summary());
  return ending_of(training, whole, interruption);
}

// Ranks that are threads of this process.
StageEnding train_in_threads(const EffectiveConfig& settings,
                             const std::vector<DevicePlan>& planned, const RunStart& start,
                             const RunFrame& frame) {
  const std::vector<DevicePlan> plans = open_and_tell(planned);
  write_plan(plans.front(), start.run.path());
  RankThreads training(settings, plans, start.run, start.checkpoints, start.resumed, frame);
  const Interruption interruption;
  const InterruptionWatch watch([&training] { training.stop(); });
  const bool whole = training.train();
  print(training.summary());
  return ending_of(training, whole, interruption);
}

StageEnding train_in_fastest(const EffectiveConfig& settings, const DevicePlan& usual,
                             const RunStart& start, const RunFrame& frame) {
  std::optional<EffectiveConfig> chosen;
  {
    const Interruption interruption;
    chosen = settle_placement(settings, usual, start.run, start.resumed, interruption);
    if (!chosen) {
      log_info("train", "interrupted while placements were measured");
      return {.kind = StageEnding::Kind::Interrupted, .signal = interruption.signal()};
    }
  }
  const RunConfig& config = chosen->values;
  const ModelConfig model = sizes_to_train(config.train);
  if (has_rank_threads(config)) {
    return train_in_threads(*chosen, plan_ranks(config, model), start, frame);
  }
  return train_as_planned(*chosen, plan_run(config, model), start, frame);
}

}  // namespace

StageEnding train_stage(const EffectiveConfig& settings, const std::vector<DevicePlan>& planned,
                        const RunDirectory& run, const RunFrame& frame) {
  const RunDirectoryConfig& config = settings.values.run;
  CheckpointStore checkpoints(run.path(), {.last = static_cast<std::size_t>(config.keep_last),
                                           .best = static_cast<std::size_t>(config.keep_best)});
  const RunStart start{run, checkpoints,
                       starting_point(run, checkpoints, settings.values, frame.team)};
  if (leads(frame)) write_settings(run, settings);
  if (has_rank_threads(settings.values)) return train_in_threads(settings, planned, start, frame);
  const bool measures = settings.values.devices.mode == Mode::Auto;
  return measures ? train_in_fastest(settings, planned.front(), start, frame)
                  : train_as_planned(settings, planned.front(), start, frame);
}

namespace {

// All of them before the first is opened: afterwards other GPUs are out of sight.
std::vector<DevicePlan> plan_stages(const StageChain& chain) {
  const ModelConfig sizes = sizes_of_run(chain.settings_of(0).values);
  std::vector<DevicePlan> plans;
  for (std::size_t index = 0; index < chain.size(); ++index) {
    plans.push_back(plan_run(chain.settings_of(index).values, sizes));
  }
  return plans;
}

StageEnding train_one(StageChain& chain, std::size_t index, const DevicePlan& plan,
                      const std::optional<Clock::Time>& deadline) {
  log_info("train", "{}", chain.opening(index));
  const RunDirectory own(chain.folder(index));
  const EffectiveConfig settings = chain.settings_of(index);
  const StageEnding ending =
      train_stage(settings, {plan}, own, {.title = chain.title(index), .deadline = deadline});
  chain.show_latest(index);
  if (ending.kind == StageEnding::Kind::Done) {
    chain.finish(index, ending.state.step, ending.state.seconds, ending.state.best_validation_loss);
  }
  return ending;
}

}  // namespace

StageEnding train_chain(const EffectiveConfig& settings, const RunDirectory& run,
                        const std::optional<Clock::Time>& deadline) {
  StageChain chain(settings, run.path());
  write_settings(run, settings);
  const std::vector<DevicePlan> plans = plan_stages(chain);
  StageEnding ending;
  for (auto next = chain.next(); next; next = chain.next()) {
    if (deadline && system_clock().now() >= *deadline) {
      return {.kind = StageEnding::Kind::OutOfTime, .state = ending.state};
    }
    ending = train_one(chain, *next, plans[*next], deadline);
    if (ending.kind != StageEnding::Kind::Done) return ending;
  }
  print(chain.summary());
  return ending;
}

}  // namespace myxtts
