// SPDX-License-Identifier: Apache-2.0
#include "session/run_monitor.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "diagnose/profile/profile.h"

namespace myxtts {

bool HourlyWarnings::warn(const std::string& cause, const std::string& sentence) {
  const auto now = clock_.now();
  const auto last = said_.find(cause);
  if (last != said_.end() && now - last->second < kQuiet) return false;
  said_[cause] = now;
  log_warning("train", "{}", sentence);
  return true;
}

GpuWatch::GpuWatch(const RolePlan& role, const Clock& clock)
    : clock_(clock), meter_(role.gpu ? std::make_unique<GpuMeter>(role.gpu->uuid) : nullptr) {}

void GpuWatch::look() {
  if (meter_ == nullptr || clock_.now() < next_) return;
  next_ = clock_.now() + kBetweenLooks;
  const auto use = meter_->read();
  if (!use) return;
  ++looks_;
  sum_.busy_share += use->busy_share;
  sum_.watts += use->watts;
  sum_.watts_limit = use->watts_limit;
  sum_.used_bytes = use->used_bytes;
  sum_.total_bytes = use->total_bytes;
}

std::optional<GpuUse> GpuWatch::take() {
  const int looks = std::exchange(looks_, 0);
  GpuUse seen = std::exchange(sum_, {});
  if (looks == 0) return std::nullopt;
  seen.busy_share /= looks;
  seen.watts /= looks;
  return seen;
}

namespace {

constexpr const char* kAsk = "myxtts profile with the same settings names the knob to turn";

double variation(const ReadinessReading& readiness) {
  const auto steps = static_cast<double>(readiness.steps);
  if (steps < 2 || readiness.step_seconds <= 0) return 0;
  const double mean = readiness.step_seconds / steps;
  const double squares = readiness.step_squares / steps;
  return std::sqrt(std::max(0.0, squares - mean * mean)) / mean;
}

void add_gpu(Metrics& metrics, const std::string& role, const std::optional<GpuUse>& seen) {
  if (!seen) return;
  metrics.emplace_back("gpu." + role + ".use", seen->busy_share);
  metrics.emplace_back("gpu." + role + ".watts", seen->watts);
}

}  // namespace

std::vector<MonitorWarning> warnings_of(const MonitoredTime& time, const Advice& advice) {
  std::vector<MonitorWarning> warnings;
  const std::string ask = advice.profile ? fmt::format("; {}", kAsk) : "";
  const bool starves = time.waited_share > kMostDataLoading;
  if (starves) {
    warnings.push_back(
        {"data loading",
         fmt::format(
             "The model device waited {:.0f} % of the last minute for batches (limit {:.0f} "
             "%). {}{}",
             100 * time.waited_share, 100 * kMostDataLoading,
             pipeline_verdict(time.pipeline, advice),
             advice.profile ? fmt::format(" {}.", kAsk) : "")});
  }
  // Where batches are late, what follows from that is not said again.
  if (!starves && time.variation > kMostVariation) {
    warnings.push_back(
        {"variation",
         fmt::format("The time of steps varied by {:.0f} % in the last minute (limit {:.0f} %) "
                     "though batches were ready: clips of very different lengths, or other work on "
                     "the machine. --batch-tokens makes steps more alike{}.",
                     100 * time.variation, 100 * kMostVariation, ask)});
  }
  if (!starves && time.model && time.model->busy_share < kLeastModelGpu) {
    warnings.push_back(
        {"model GPU",
         fmt::format("The model GPU was in use {:.0f} % of the last minute (limit {:.0f} %) though "
                     "batches were ready: the host may hand work over too slowly. Use "
                     "--enable-static-shapes or a larger --batch-size{}.",
                     100 * time.model->busy_share, 100 * kLeastModelGpu, ask)});
  }
  if (time.two_cards && time.data && time.data->busy_share > kMostDataGpu) {
    warnings.push_back(
        {"data GPU",
         fmt::format("The data GPU was in use {:.0f} % of the last minute (limit {:.0f} %): it is "
                     "about to be what the run waits for.{}",
                     100 * time.data->busy_share, 100 * kMostDataGpu,
                     advice.cache ? " Keep its results with --cache-dataset." : "")});
  }
  return warnings;
}

RunMonitor::RunMonitor(const DevicePlan& plan, std::function<PipelineReading()> meters,
                       const Advice& advice, std::function<std::optional<GpuUse>(Role)> gpu,
                       const Clock& clock)
    : two_cards_(plan.mode == Mode::Dual),
      meters_(std::move(meters)),
      advice_(advice),
      gpu_(std::move(gpu)),
      clock_(clock),
      data_(plan.data, clock),
      model_(plan.model, clock),
      warnings_(clock) {
  begin();
}

void RunMonitor::begin() {
  since_ = clock_.now();
  before_ = meters_();
  data_.take();
  model_.take();
}

MonitoredTime RunMonitor::ended() {
  MonitoredTime time{.two_cards = two_cards_, .pipeline = between(before_, meters_())};
  time.waited_share = waited_share(time.pipeline);
  time.variation = variation(time.pipeline.readiness);
  time.data = gpu_ ? gpu_(Role::Data) : data_.take();
  time.model = gpu_ ? gpu_(Role::Model) : model_.take();
  return time;
}

void RunMonitor::stepped(const StepReport&) {
  data_.look();
  model_.look();
  if (clock_.now() - since_ < kWindow) return;
  if (meters_().readiness.steps - before_.readiness.steps < kFewest) return;
  last_ = ended();
  for (const MonitorWarning& warning : warnings_of(*last_, advice_)) {
    warnings_.warn(warning.cause, warning.sentence);
  }
  begin();
}

void RunMonitor::evaluated(const EvaluationReport&) {
  begin();
}

Metrics RunMonitor::gauges() const {
  if (!last_) return {};
  Metrics metrics{{"monitor.waited_share", last_->waited_share},
                  {"monitor.step_variation", last_->variation}};
  add_gpu(metrics, "data", last_->data);
  add_gpu(metrics, "model", last_->model);
  return metrics;
}

}  // namespace myxtts
