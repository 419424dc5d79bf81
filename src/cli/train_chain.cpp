// SPDX-License-Identifier: Apache-2.0
#include "cli/train_chain.h"

#include <vector>

#include "base/log.h"
#include "cli/report.h"
#include "session/plan_run.h"
#include "session/run_records.h"
#include "session/stage_chain.h"

namespace myxtts {
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
