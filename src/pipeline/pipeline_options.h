// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/model.h"
#include "config/run_config.h"
#include "data/batches/batch_plan.h"
#include "data/batches/sound_window.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "device/role_device.h"
#include "model/gpt_rows.h"
#include "pipeline/staging_pool.h"

namespace myxtts {

struct PipelineOptions {
  // How the rows of batches are made, and how many batches make a step.
  GptConfig gpt = {};
  PromptMask mask = PromptMask::Clip;  // --prompt-mask
  std::int64_t batches_a_step = 1;     // --grad-accum
  WindowPlan windows = {};             // of parts that train on sound

  std::optional<DataPosition> end = {};  // nothing: one epoch after another, for ever
  std::size_t workers = 1;               // that decode, at first
  std::size_t most_workers = 1;          // more than `workers`: autotune decides
  std::size_t buffer_batches = 50;       // --buffer-size: what a BatchWindow may hold
  std::size_t buffer_bytes = SIZE_MAX;   // of decoded samples in it
  bool tune_buffer = false;              // autotune may enlarge it
  StagingPool::Allocate allocate = plain_memory;

  std::size_t ring_slots = 3;                 // on the model device
  std::chrono::nanoseconds start_delay = {};  // --model-start-delay; 0 where it does not apply
  // The model device of each trainer, which outlives the pipeline; null: the CPU. They are the
  // ranks that are fed: Note [Batches of several trainers].
  std::vector<const RoleDevice*> trainers = {nullptr};

  std::size_t staging_blocks() const { return ring_slots + 2; }
};

// What --num-workers auto begins with: a quarter of the cores. It may end with all of them.
std::size_t first_workers(const CpuInfo& cpu);

// Decoded clips may take this share of the memory that is free at the start.
inline constexpr double kBufferShare = 0.25;

// Batches that --buffer-size auto begins with: what that share holds of batches of `batch_bytes`
// decoded samples, at most the `batches_per_epoch` and 50, at least 4. Autotune may add.
std::size_t first_buffer(std::int64_t free_bytes, std::int64_t batch_bytes,
                         std::int64_t batches_per_epoch);

// The settings of a run as a pipeline takes them; the devices' own (events, streams, host memory)
// are left to whoever opens those, and so is the buffer of --buffer-size auto to whoever knows the
// clips (first_buffer). The start waits for --model-start-delay in `dual` and `split`
// only.
PipelineOptions pipeline_options(const DataConfig& data, const TrainConfig& train,
                                 const DevicePlan& plan, const CpuInfo& cpu,
                                 const MemoryInfo& memory);

}  // namespace myxtts
