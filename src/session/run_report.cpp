// SPDX-License-Identifier: Apache-2.0
#include "session/run_report.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {

void write_settings(const std::filesystem::path& run, const EffectiveConfig& config) {
  write_file_atomically(run / "config.yaml", bytes_of(print_config(config)));
}

void say(const Lines& lines) {
  for (const std::string& line : lines) log_info("train", "{}", line);
}

std::string resume_command(const std::filesystem::path& run) {
  return fmt::format("myxtts train --config {} --resume", (run / "config.yaml").string());
}

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

}  // namespace

double waited_share(const PipelineReading& reading) {
  const double all = reading.model_device.busy_seconds + reading.readiness.waited_seconds;
  return all <= 0 ? 0.0 : reading.readiness.waited_seconds / all;
}

Advice advice_for(const RunConfig& config) {
  const bool is_gpt = config.train.stage == ModelPart::Gpt;
  return {.cache = is_gpt && !config.data.cache_dataset && !config.train.shift_clips,
          .profile = is_gpt && !config.parallel.ranks && !config.devices.gpus};
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

namespace {

template <typename Iterator>
double mean_of(Iterator first, std::size_t count) {
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(count), 0.0) /
         static_cast<double>(count);
}

}  // namespace

void RunTally::stepped(const StepReport& report) {
  audio_seconds_ += report.audio_seconds;
  if (report.numbers.skipped) return;
  ++steps_;
  if (first_.size() < kFew) first_.push_back(report.numbers.loss);
  last_.push_back(report.numbers.loss);
  if (last_.size() > kFew) last_.pop_front();
}

// A run of a few steps has a first and a second half.
std::size_t RunTally::few() const {
  return std::clamp<std::size_t>(steps_ / 2, 1, kFew);
}

std::optional<double> RunTally::first_loss() const {
  if (steps_ == 0) return std::nullopt;
  return mean_of(first_.begin(), few());
}

std::optional<double> RunTally::last_loss() const {
  if (steps_ == 0) return std::nullopt;
  return mean_of(last_.rbegin(), few());
}

namespace {

std::unique_ptr<GpuMeter> meter_of(const DevicePlan& plan) {
  return plan.model.gpu ? std::make_unique<GpuMeter>(plan.model.gpu->uuid) : nullptr;
}

}  // namespace

ProgressObserver::ProgressObserver(const DevicePlan& plan, const TrainingProgressOptions& options,
                                   Screen& screen, const Clock& clock)
    : options_(options),
      clock_(clock),
      gpu_(meter_of(plan)),
      progress_(std::in_place,
                ProgressOptions{.title = options.title,
                                .total = options.last_step,
                                .done_before = static_cast<std::uint64_t>(options.first_step)},
                screen, clock),
      since_(clock.now()),
      begun_(clock.now()) {}

void ProgressObserver::stepped(const StepReport& report) {
  clips_ += std::ssize(report.clips);
  audio_seconds_ += report.audio_seconds;
  if (progress_->draws_soon()) progress_->set_note(note(report));
  progress_->advance();
}

void ProgressObserver::evaluated(const EvaluationReport& report) {
  std::string parts;
  for (std::size_t i = 0; i < report.losses.size(); ++i) {
    parts +=
        fmt::format("{}{} {:.4f}", i == 0 ? "" : ", ", options_.loss_names.at(i), report.losses[i]);
  }
  log_info("train", "step {}: validation loss {:.4f} ({}) over {} clips in {:.1f} s{}", report.step,
           report.loss, parts, report.clips, report.seconds,
           report.best ? ", the best so far" : "");
}

std::string ProgressObserver::note(const StepReport& report) {
  const auto now = clock_.now();
  const double seconds = std::max(1e-9, std::chrono::duration<double>(now - since_).count());
  std::string text =
      fmt::format("epoch {}  loss {:.4f}  lr {:.3g}  {:.1f} clips/s  {:.0f} h/h  ready {:.1f} %",
                  report.position.epoch + 1, report.numbers.loss, report.learning_rate,
                  static_cast<double>(clips_) / seconds, audio_seconds_ / seconds,
                  100 * options_.meters().readiness.share());
  if (const auto use = gpu_ ? gpu_->read() : std::nullopt) {
    text += fmt::format("  GPU {} % {}", use->percent, human_size(use->used_bytes));
  }
  if (options_.most_seconds) {
    const double trained =
        options_.seconds_before + std::chrono::duration<double>(now - begun_).count();
    text += fmt::format("  {:.1f} of {:.4g} min", trained / 60, *options_.most_seconds / 60);
  }
  since_ = now;
  clips_ = 0;
  audio_seconds_ = 0;
  return text;
}

}  // namespace myxtts
