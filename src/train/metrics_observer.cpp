// SPDX-License-Identifier: Apache-2.0
#include "train/metrics_observer.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {
MetricsObserver::MetricsObserver(const std::filesystem::path& run, const MetricsSettings& settings)
    : settings_(settings),
      log_(run / "metrics.jsonl", settings.start.metrics_position, settings.start.step),
      events_(run, settings.start.step + 1),
      since_(settings.clock->now()),
      skipped_steps_(settings.start.skipped_steps) {
  records_[0] = {.file = run / "metrics.jsonl",
                 .write = [this](std::span<const MetricsLine> lines) { log_.add(lines); }};
  records_[1] = {.file = events_.path(), .write = [this](std::span<const MetricsLine> lines) {
                   for (const MetricsLine& line : lines) {
                     for (const auto& [name, value] : line.metrics) {
                       events_.add_scalar(line.event + "/" + name, line.step, value);
                     }
                   }
                   events_.flush();
                 }};
}

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
  for (Record& record : records_) add(record, {event, step, metrics});
}

void MetricsObserver::add(Record& record, const MetricsLine& line) {
  std::vector<MetricsLine> lines;
  if (record.missing > 0) {
    // At the first of the steps, so that a run that is resumed between them keeps the line.
    lines.push_back({"unrecorded",
                     record.first_missing,
                     {{"last_step", static_cast<double>(record.last_missing)},
                      {"lines", static_cast<double>(record.missing)}}});
  }
  lines.push_back(line);
  try {
    record.write(lines);
  } catch (const DataError& error) {
    const auto lacks_lines = [](const Record& any) { return any.missing > 0; };
    if (std::ranges::none_of(records_, lacks_lines)) {
      log_warning("train", "{} Metrics are left out until there is room; training goes on.",
                  error.what());
    }
    if (record.missing++ == 0) record.first_missing = line.step;
    record.last_missing = line.step;
    return;
  }
  if (record.missing == 0) return;
  log_info("train", "{} is written again, without {} of steps {} to {}.", record.file.string(),
           counted(record.missing, "line", "lines"), record.first_missing, record.last_missing);
  record.missing = 0;
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
