// SPDX-License-Identifier: Apache-2.0
#include "session/run_summary.h"

#include <chrono>

#include <fmt/format.h>

#include "base/human.h"

namespace myxtts {
namespace {

constexpr double kReady = 0.995;      // a pipeline that is good enough
constexpr double kWaitsOften = 0.10;  // of the time: worth doing something about

double share_of(std::chrono::nanoseconds part, const LoadReading& load) {
  const auto all = load.busy + load.waiting_for_input + load.waiting_for_output;
  return all.count() == 0 ? 0.0
                          : static_cast<double>(part.count()) / static_cast<double>(all.count());
}

// The stage that works while the others wait for it: the busiest one.
const StageReading* busiest(const PipelineReading& reading) {
  const StageReading* found = nullptr;
  for (const StageReading& stage : reading.stages) {
    if (found == nullptr ||
        share_of(stage.load.busy, stage.load) > share_of(found->load.busy, found->load)) {
      found = &stage;
    }
  }
  return found;
}

std::string remedy(const std::string& stage, const Advice& advice) {
  const auto with_cache = [&advice](const std::string& first, const char* second) {
    return advice.cache ? fmt::format("{}, or {} --cache-dataset", first, second) : first;
  };
  if (stage == "features") {
    return with_cache(
        "give the data work a device of its own (--data-gpu, --split-gpu, --data-threads)",
        "keep its results with");
  }
  if (stage == "decoder") return with_cache("raise --num-workers", "keep decoded clips with");
  if (stage == "reader") return with_cache("put the corpus on a faster disk", "use");
  return "raise --buffer-size";
}

// Time the model device spent waiting, of all its time.
double waited_share(const PipelineReading& reading) {
  const double all = reading.model_device.busy_seconds + reading.readiness.waited_seconds;
  return all <= 0 ? 0.0 : reading.readiness.waited_seconds / all;
}

}  // namespace

Advice advice_for(const RunConfig& config) {
  const bool is_gpt = config.train.stage == Stage::Gpt;
  return {.cache = is_gpt && !config.data.cache_dataset && !config.train.shift_clips,
          .profile = is_gpt && !config.parallel.ranks && !config.parallel.gpus};
}

std::string pipeline_verdict(const PipelineReading& reading, const Advice& advice) {
  const ReadinessReading& ready = reading.readiness;
  if (ready.steps == 0) return "The pipeline fed no step.";
  const double waited = waited_share(reading);
  const std::string figures = fmt::format(
      "{} of {} batches were waiting when they were wanted ({:.1f} %), and the model "
      "device waited {:.1f} % of its time",
      ready.ready, ready.steps, 100 * ready.share(), 100 * waited);
  if (ready.share() >= kReady) return fmt::format("The pipeline kept up: {}.", figures);
  const StageReading* slowest = busiest(reading);
  if (waited < kWaitsOften || slowest == nullptr) {
    return fmt::format("The pipeline kept up most of the time: {}.", figures);
  }
  return fmt::format(
      "The pipeline held training up: {}. The busiest stage was the {} ({:.0f} %); {}.", figures,
      slowest->name, 100 * share_of(slowest->load.busy, slowest->load),
      remedy(slowest->name, advice));
}

std::string describe(const RunSummary& summary) {
  const std::int64_t steps = summary.last_step - summary.first_step;
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(summary.seconds));
  std::string text = fmt::format("{} steps, {} to {}, in {}", human_count(steps),
                                 summary.first_step + 1, summary.last_step, human_duration(time));
  if (steps > 0 && summary.seconds > 0) {
    text += fmt::format(" ({:.3g} steps/s, {:.3g} hours of speech an hour)",
                        static_cast<double>(steps) / summary.seconds,
                        summary.audio_seconds / summary.seconds);
  }
  text += "\n";
  if (summary.first_loss && summary.last_loss) {
    text += fmt::format("loss      {:.4f} at first, {:.4f} at last\n", *summary.first_loss,
                        *summary.last_loss);
  }
  if (summary.best_validation_loss) {
    text += fmt::format("validated {:.4f} at best\n", *summary.best_validation_loss);
  }
  if (summary.skipped_steps > 0) {
    text += fmt::format("skipped   {} steps that were not finite\n", summary.skipped_steps);
  }
  return text + describe(summary.pipeline) + pipeline_verdict(summary.pipeline, summary.advice) +
         "\n";
}

}  // namespace myxtts
