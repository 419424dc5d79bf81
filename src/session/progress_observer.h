// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/progress.h"
#include "device/device_plan.h"
#include "device/gpu_meter.h"
#include "pipeline/pipeline_reading.h"
#include "train/observer.h"

namespace myxtts {

struct TrainingProgressOptions {
  std::string title = "Training";
  std::int64_t first_step = 0;
  std::optional<std::int64_t> last_step = {};  // nothing: not known
  std::optional<double> most_seconds = {};     // of training, where a clock ends it
  double seconds_before = 0;                   // of training, by earlier processes
  std::vector<std::string> loss_names = {};    // StageTraining's
  std::function<PipelineReading()> meters;     // of the pipeline that feeds it
};

// Shows a run while it trains: a bar on a terminal, plain lines elsewhere.
//
//   Training [====    ] 45 %  450 of 1,000  3.1/s  3 min left  epoch 3  loss 4.321  lr 5e-06
//   24.8 clips/s  61 h/h  ready 100 %  GPU 98 % 31 GB
//
// Rates are those since the last time it drew. The trainer's thread; nothing waits for a device.
class ProgressObserver final : public TrainingObserver {
 public:
  // Asks the GPU of the plan's model role for its use, where there is one.
  ProgressObserver(const DevicePlan& plan, const TrainingProgressOptions& options,
                   Screen& screen = standard_screen(), const Clock& clock = system_clock());

  void stepped(const StepReport& report) override;
  void evaluated(const EvaluationReport& report) override;

  // The bar gives way to a line with the sum. Nothing may be told afterwards.
  void finish() { progress_.reset(); }

 private:
  std::string note(const StepReport& report);

  const TrainingProgressOptions options_;
  const Clock& clock_;
  std::unique_ptr<GpuMeter> gpu_;
  std::optional<Progress> progress_;  // until finish()

  // Since the last note.
  Clock::Time since_;
  const Clock::Time begun_;
  std::int64_t clips_ = 0;
  double audio_seconds_ = 0;
};

}  // namespace myxtts
