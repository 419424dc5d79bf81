// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "device/nvml.h"
#include "device/plan/device_plan.h"
#include "device/role_device.h"
#include "diagnose/profile/profile.h"
#include "pipeline/pipeline_reading.h"
#include "run/metrics_log.h"
#include "session/run_report.h"
#include "train/observer.h"

namespace myxtts {

// Says each thing at most once an hour, however often it is found. One thread; the clock outlives
// it.
class HourlyWarnings {
 public:
  static constexpr std::chrono::hours kQuiet{1};

  explicit HourlyWarnings(const Clock& clock = system_clock()) : clock_(clock) {}

  // A line of the log, unless one of the same cause was said within the hour. Whether it was.
  bool warn(const std::string& cause, const std::string& sentence);

 private:
  const Clock& clock_;
  std::map<std::string, Clock::Time> said_;
};

// Looks at the GPU of a role now and then, and averages. Nothing waits for it. One thread; the
// clock outlives it.
class GpuWatch {
 public:
  static constexpr std::chrono::milliseconds kBetweenLooks{100};

  explicit GpuWatch(const RolePlan& role, const Clock& clock = system_clock());

  // As often as one likes: asks the driver only when the last look is some time ago.
  void look();

  // Since the last take(); nothing: there is no GPU, it does not report, or nobody looked.
  std::optional<GpuUse> take();

 private:
  const Clock& clock_;
  std::unique_ptr<GpuMeter> meter_;  // null: the role is on the CPU
  Clock::Time next_{};
  GpuUse sum_;
  int looks_ = 0;
};

// How a run went for a while.
struct MonitoredTime {
  double waited_share = 0;  // of the model device's time, for batches
  double variation = 0;     // of the time of batches on the model device
  std::optional<GpuUse> data = {};
  std::optional<GpuUse> model = {};
  bool two_cards = false;
  PipelineReading pipeline = {};  // of that time
};

struct MonitorWarning {
  std::string cause;     // "model GPU"
  std::string sentence;  // with the figure, the limit and the remedy
};

// What is wrong with it, by the thresholds of `profile`.
std::vector<MonitorWarning> warnings_of(const MonitoredTime& time, const Advice& advice = {});

// Watches a run while it trains: how busy each role's GPU is, how long the model waits and how
// evenly it steps. Warns with a remedy when a threshold is crossed for a minute, each cause at most
// once an hour. The trainer's thread; nothing waits for a device. The clock outlives it.
class RunMonitor final : public TrainingObserver {
 public:
  static constexpr std::chrono::seconds kWindow{60};
  static constexpr std::int64_t kFewest = 30;  // batches that a judgement needs

  // `meters` are those of the pipeline that feeds the run. `gpu` is called where a GPU is looked
  // at, for tests; empty: the driver.
  RunMonitor(const DevicePlan& plan, std::function<PipelineReading()> meters,
             const Advice& advice = {}, std::function<std::optional<GpuUse>(Role)> gpu = {},
             const Clock& clock = system_clock());

  void stepped(const StepReport& report) override;
  // Nothing is trained meanwhile, so that what is judged begins anew.
  void evaluated(const EvaluationReport& report) override;

  Metrics gauges() const;  // of the last whole minute; empty before it

 private:
  void begin();
  MonitoredTime ended();

  const bool two_cards_;
  const std::function<PipelineReading()> meters_;
  const Advice advice_;
  const std::function<std::optional<GpuUse>(Role)> gpu_;
  const Clock& clock_;
  GpuWatch data_;
  GpuWatch model_;
  HourlyWarnings warnings_;
  Clock::Time since_{};
  PipelineReading before_;
  std::optional<MonitoredTime> last_;
};

}  // namespace myxtts
