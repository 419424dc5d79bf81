// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/data.h"
#include "config/train.h"
#include "device/device_plan.h"
#include "device/machine.h"
#include "pipeline/data_pipeline.h"

namespace myxtts {

// What --num-workers auto begins with: a quarter of the cores. It may end with all of them.
std::size_t first_workers(const CpuInfo& cpu);

// Batches that --buffer-size auto begins with.
inline constexpr std::size_t kFirstBuffer = 8;

// Decoded clips may take this share of the memory that is free at the start.
inline constexpr double kBufferShare = 0.25;

// The settings of a run as a pipeline takes them; the devices' own (events, streams, host memory)
// are left to whoever opens those. The start waits for --model-start-delay in `dual` and `split`
// only.
PipelineOptions pipeline_options(const DataConfig& data, const TrainConfig& train,
                                 const DevicePlan& plan, const CpuInfo& cpu,
                                 const MemoryInfo& memory);

// --prompt-mask as the rows take it; prompts of other clips hide nothing.
MaskPromptSpan mask_of(const TrainConfig& train);

// "The pipeline was ready after 3.1 s: 1.1 s until the ring of 3 was full, then 2.0 s of
// --model-start-delay."
std::string describe(const StartReport& report, std::size_t ring_slots);

}  // namespace myxtts
