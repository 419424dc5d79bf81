// SPDX-License-Identifier: Apache-2.0
#include "session/progress_observer.h"

#include <chrono>

#include <fmt/format.h>

#include "base/human.h"
#include "base/log.h"

namespace myxtts {
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
  if (progress_->draws_soon()) progress_->tell(note(report));
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
    text += fmt::format("  GPU {} % {}", use->percent,
                        human_size(static_cast<std::uint64_t>(use->used_bytes)));
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
