// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_placements.h"

#include <fmt/format.h>

#include "base/log.h"
#include "cli/placement_trials.h"
#include "diagnose/auto/placement.h"

namespace myxtts {
namespace {

// Measured in each placement, after those that warm it up. Steps on a CPU are longer.
constexpr std::int64_t kGpuSteps = 40;
constexpr std::int64_t kCpuSteps = 24;
// Batches decoded ahead of time would hide how fast clips really come.
constexpr std::int64_t kBuffer = 8;

// What a short training needs of the settings; the run's own files are none of its business.
RunConfig trial_settings(RunConfig config, const PlacementQuestion& question) {
  const std::int64_t buffer = config.data.pipeline_buffer_size.value_or(kBuffer);
  config.data.pipeline_buffer_size = std::min(buffer, kBuffer);
  const bool named = question.settings.origin_of("data.cache_dir").kind != Origin::Kind::Default;
  if (!config.data.cache_dir || (config.data.cache_dataset && !named)) {
    config.data.cache_dir = question.cache;
  }
  config.run = RunDirectoryConfig{};
  config.run.checkpoint_dir = question.folder / "run";
  return config;
}

void tell(const MeasuredPlacement& line) {
  const std::string name = name_of(line.placement);
  if (!line.reading) {
    log_info("auto", "{}: not measured: {}", name, line.reason);
  } else {
    log_info("auto", "{}: {:.1f} clips/s, {:.1f} ms a step", name, line.clips_per_second,
             line.reading->step_seconds * 1000);
  }
}

}  // namespace

RunConfig without_auto(RunConfig config) {
  if (config.devices.mode == Mode::Auto) config.devices.mode.reset();
  return config;
}

PlacementAnswer compare_placements(const PlacementQuestion& question,
                                   const Interruption& interruption) {
  const RunConfig& config = question.settings.values;
  const auto placements = possible_placements(config, question.machine, question.usual);
  const bool on_cpu = !question.usual.model.gpu;
  const std::int64_t steps = question.steps.value_or(on_cpu ? kCpuSteps : kGpuSteps);
  PlacementTrials trials(question.folder, steps, interruption);
  const auto measure = [&](const Placement& placement) {
    return trials.measure(trial_settings(placed(config, placement, question.usual), question));
  };
  const CalibrationSettings settings{.may_cache = question.may_cache,
                                     .first_epoch_share = question.first_epoch_share,
                                     .noisy = on_cpu,
                                     .stopped = [&interruption] { return interruption.came(); },
                                     .begins =
                                         [steps](const Placement& placement) {
                                           log_info("auto", "measuring {} for {} steps",
                                                    name_of(placement), steps);
                                         },
                                     .ended = tell};
  PlacementAnswer answer{.table = calibrate(placements, measure, settings)};
  if (const auto* best = fastest(answer.table, on_cpu ? kCpuTie : kGpuTie)) {
    answer.fastest = best->placement;
  }
  return answer;
}

}  // namespace myxtts
