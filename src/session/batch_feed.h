// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "config/run_config.h"
#include "device/device_plan.h"
#include "device/start_messages.h"
#include "pipeline/data_pipeline.h"
#include "pipeline/feature_stage.h"
#include "session/run_data.h"
#include "session/run_devices.h"

namespace myxtts {

// What every feed of a run shares. All of it outlives the feeds.
struct FeedParts {
  const RunConfig& config;
  const DevicePlan& plan;
  const GptConfig& gpt;
  const RunData& data;
  RunDevices& devices;
  const StageProbe* probe = nullptr;  // of a trial
};

// Batches on the model device, from the files of one part of the data: the pipeline with its
// feature stage, set up by the settings of a run. Threads are as in DataPipeline.
class BatchFeed {
 public:
  using Pipeline = DataPipeline<FeatureStage>;

  // Training batches, epoch after epoch up to --epochs.
  static std::unique_ptr<BatchFeed> for_training(const FeedParts& parts);
  // The validation clips once: nothing masked, prompts where evaluation has them.
  static std::unique_ptr<BatchFeed> for_validation(const FeedParts& parts);

  BatchFeed(const FeedParts& parts, const RunData::Part& part, const PipelineOptions& options);

  void start(DataPosition position) { pipeline_.start(position); }
  StartWait wait_until_ready();
  [[nodiscard]] std::optional<Pipeline::Slot> next() { return pipeline_.next(); }
  void close() { pipeline_.close(); }
  void stop() { pipeline_.stop(); }
  // The same, and waits until what was computed is in the feature cache, where there is one.
  void finish();

  PipelineReading meters() const { return pipeline_.meters(); }
  PipelineFacts facts() const;
  std::chrono::nanoseconds start_delay() const { return options_.start_delay; }

 private:
  const PipelineOptions options_;
  std::unique_ptr<CacheFiller> filler_;  // null: nothing is cached
  FeatureStage stage_;
  Pipeline pipeline_;
};

}  // namespace myxtts
