// SPDX-License-Identifier: Apache-2.0
#include "cli/train_stage.h"

#include "base/log.h"
#include "cli/auto_mode.h"
#include "cli/interruption.h"
#include "cli/report.h"
#include "device/plan/plan_file.h"
#include "run/resume.h"
#include "session/plan_run.h"
#include "session/run_records.h"

namespace myxtts {
namespace {

struct RunStart {
  const RunDirectory& run;
  CheckpointStore& checkpoints;
  std::optional<Checkpoint> resumed;
};

StageEnding train_as_planned(const EffectiveConfig& settings, const DevicePlan& planned,
                             const RunStart& start, const RunFrame& frame) {
  const DevicePlan plan = open_and_tell(planned);
  write_plan(plan, start.run.path());
  TrainingRun training(settings, plan, start.run, start.checkpoints, start.resumed, frame);
  const Interruption interruption;
  const InterruptionWatch watch([&training] { training.stop(); });
  training.start();
  const bool whole = training.train();
  print(training.summary());
  if (whole) return {.state = training.state()};
  if (training.out_of_time()) {
    return {.kind = StageEnding::Kind::OutOfTime, .state = training.state()};
  }
  return {.kind = StageEnding::Kind::Interrupted,
          .signal = interruption.signal(),
          .state = training.state()};
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
  return train_as_planned(*chosen, plan_run(config, sizes_to_train(config.train)), start, frame);
}

}  // namespace

StageEnding train_stage(const EffectiveConfig& settings, const DevicePlan& planned,
                        const RunDirectory& run, const RunFrame& frame) {
  const RunDirectoryConfig& config = settings.values.run;
  CheckpointStore checkpoints(run.path(), {.last = static_cast<std::size_t>(config.keep_last),
                                           .best = static_cast<std::size_t>(config.keep_best)});
  const RunStart start{
      run, checkpoints,
      find_starting_point(run, checkpoints, config.resume, settings.values.train.stage)};
  write_settings(run, settings);
  const bool measures = settings.values.devices.mode == Mode::Auto;
  return measures ? train_in_fastest(settings, planned, start, frame)
                  : train_as_planned(settings, planned, start, frame);
}

}  // namespace myxtts
