// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

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
  // The model devices of all ranks, where one feed is for those of a whole run; empty: for the one
  // of `devices` alone.
  std::vector<BatchTarget> ranks = {};
};

// Batches on the model device, from the files of one part of the data: the pipeline with its
// feature stage, set up by the settings of a run. It has one trainer, or one for each rank: these
// call with their numbers. Threads are as in DataPipeline.
class BatchFeed {
 public:
  using Pipeline = DataPipeline<FeatureStage>;

  // Training batches, epoch after epoch up to --epochs.
  static std::unique_ptr<BatchFeed> for_training(const FeedParts& parts);
  // The validation clips once: nothing masked, prompts where evaluation has them.
  static std::unique_ptr<BatchFeed> for_validation(const FeedParts& parts);

  BatchFeed(const FeedParts& parts, const RunData::Part& part, const PipelineOptions& options);

  // The first call starts it; any thread's.
  void start(DataPosition position);
  StartWait wait_until_ready(std::size_t trainer = 0);
  [[nodiscard]] std::optional<Pipeline::Slot> next(std::size_t trainer = 0) {
    return pipeline_.next(trainer);
  }
  // Once, by each trainer. Whether it was the last one.
  bool leave(std::size_t trainer);
  void close() { pipeline_.close(); }
  void stop() { pipeline_.stop(); }
  // The same, and waits until what was computed is in the feature cache, where there is one.
  void finish();

  PipelineReading meters(std::size_t trainer = 0) const { return pipeline_.meters(trainer); }
  PipelineFacts facts() const;
  std::chrono::nanoseconds start_delay() const { return options_.start_delay; }

 private:
  const PipelineOptions options_;
  std::unique_ptr<CacheFiller> filler_;  // null: nothing is cached
  FeatureStage stage_;
  Pipeline pipeline_;
  std::once_flag started_;
  std::atomic<std::size_t> left_ = 0;  // trainers
};

}  // namespace myxtts
