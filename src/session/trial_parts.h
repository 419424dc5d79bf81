// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "config/effective_config.h"
#include "device/device_plan.h"
#include "session/batch_feed.h"
#include "session/resident_batches.h"
#include "session/run_data.h"
#include "session/run_devices.h"
#include "session/starting_model.h"
#include "train/trainer.h"

namespace myxtts {

// What a training without a run directory is made of, joined as TrainingRun joins it. `folder` has
// what the starting model and, without --cache-dir, the indexes and the cache leave on the disk.
// Everything it is given outlives it. One thread.
struct TrialParts {
  TrialParts(const EffectiveConfig& given, const DevicePlan& planned,
             const std::filesystem::path& folder, StageProbe& probe);

  // A feed that is started at the first batch and full.
  std::unique_ptr<BatchFeed> make_feed() const;

  // That the stages hold at most, ahead of the trainer.
  static std::int64_t batches_ahead(const PipelineFacts& facts);

  // Computes what `batches` batches need, where there is a cache to keep it in, and those that are
  // taken before they are counted.
  void fill_cache(std::int64_t batches) const;

  // One batch. An error of LibTorch becomes one of the model device.
  void step(DeviceBatch& batch);

  const EffectiveConfig settings;
  const DevicePlan& plan;
  const StageProbe& probe;
  const StartingModel start;
  RunData data;
  RunDevices devices;
  FeedParts shared;
  std::unique_ptr<StageTraining> training;
  Trainer trainer;
};

}  // namespace myxtts
