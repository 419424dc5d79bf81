// SPDX-License-Identifier: Apache-2.0
#include "train/metrics_observer.h"

#include <chrono>

#include "base/error.h"
#include "base/log.h"

namespace myxtts {

MetricsObserver::MetricsObserver(const std::filesystem::path& run, const MetricsSettings& settings)
    : settings_(settings),
      log_(run / "metrics.jsonl", settings.start.metrics_position, settings.start.step),
      events_(run, settings.start.step + 1),
      since_(settings.clock->now()),
      skipped_steps_(settings.start.skipped_steps) {}

void MetricsObserver::stepped(const StepReport& report) {
  const StepNumbers& numbers = report.numbers;
  clips_ += static_cast<double>(report.clips.size());
  audio_seconds_ += report.audio_seconds;
  if (numbers.skipped) {
    ++skipped_steps_;
    add("skipped", numbers.step, {{"loss", numbers.loss}, {"grad_norm", numbers.gradient_norm}});
  }
  if (numbers.step % settings_.log_steps != 0) return;

  Metrics metrics{{"epoch", static_cast<double>(report.position.epoch)}, {"loss", numbers.loss}};
  add_losses(numbers.losses, metrics);
  metrics.push_back({"lr", report.learning_rate});
  metrics.push_back({"grad_norm", numbers.gradient_norm});
  metrics.push_back({"loss_scale", numbers.loss_scale});
  metrics.push_back({"skipped_steps", static_cast<double>(skipped_steps_)});
  for (auto& metric : pace()) metrics.push_back(std::move(metric));
  if (settings_.gauges) {
    for (auto& metric : settings_.gauges()) metrics.push_back(std::move(metric));
  }
  add("train", numbers.step, metrics);
}

void MetricsObserver::evaluated(const EvaluationReport& report) {
  Metrics metrics{{"loss", report.loss}};
  add_losses(report.losses, metrics);
  metrics.push_back({"clips", static_cast<double>(report.clips)});
  metrics.push_back({"seconds", report.seconds});
  metrics.push_back({"best", report.best ? 1.0 : 0.0});
  add("validation", report.step, metrics);
  if (settings_.histograms) add_histograms(report.step);
  pace();  // no training went on meanwhile
}

void MetricsObserver::add(const std::string& event, std::int64_t step, const Metrics& metrics) {
  try {
    log_.add(event, step, metrics);
    for (const auto& [name, value] : metrics) events_.add_scalar(event + "/" + name, step, value);
    events_.flush();
    refused_ = false;
  } catch (const DataError& error) {
    if (!refused_) {
      log_warning("train", "{} Metrics are left out until there is room; training goes on.",
                  error.what());
    }
    refused_ = true;
  }
}

void MetricsObserver::add_losses(const std::vector<double>& losses, Metrics& metrics) const {
  MYXTTS_CHECK(losses.size() == settings_.loss_names.size(), "{} losses have {} names",
               losses.size(), settings_.loss_names.size());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    metrics.push_back({settings_.loss_names[i], losses[i]});
  }
}

void MetricsObserver::add_histograms(std::int64_t step) {
  for (const auto& [name, counts] : settings_.histograms()) {
    events_.add_histogram("weights/" + name, step, counts);
  }
}

Metrics MetricsObserver::pace() {
  const auto now = settings_.clock->now();
  const double seconds = std::chrono::duration<double>(now - std::exchange(since_, now)).count();
  const double clips = std::exchange(clips_, 0.0);
  const double audio_seconds = std::exchange(audio_seconds_, 0.0);
  if (seconds <= 0) return {};
  // Seconds of sound in each second are hours of sound in each hour.
  return {{"clips_per_second", clips / seconds}, {"audio_hours_per_hour", audio_seconds / seconds}};
}

}  // namespace myxtts
