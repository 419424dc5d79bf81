// SPDX-License-Identifier: Apache-2.0
#include "pipeline/data_pipeline.h"

#include <algorithm>

#include "base/error.h"

namespace myxtts {

std::size_t first_workers(const CpuInfo& cpu) {
  return static_cast<std::size_t>(std::max(1, cpu.usable_cores() / 4));
}

MaskPromptSpan mask_of(const TrainConfig& train) {
  if (train.prompt_from == PromptFrom::Speaker) return MaskPromptSpan::None;
  switch (train.prompt_mask) {
    case PromptMask::Clip:
      return MaskPromptSpan::Intended;
    case PromptMask::None:
      return MaskPromptSpan::None;
    case PromptMask::Peer:
      return MaskPromptSpan::PeerSlip;
  }
  throw InternalError("There is no such prompt mask.");
}

PipelineOptions pipeline_options(const DataConfig& data, const TrainConfig& train,
                                 const DevicePlan& plan, const CpuInfo& cpu,
                                 const MemoryInfo& memory) {
  PipelineOptions options;
  HostOptions& host = options.host;
  host.rows.mask = mask_of(train);
  host.rows.batches_a_step = train.grad_accum;
  host.workers =
      data.num_workers ? static_cast<std::size_t>(*data.num_workers) : first_workers(cpu);
  host.most_workers = data.num_workers
                          ? host.workers
                          : std::max(host.workers, static_cast<std::size_t>(cpu.usable_cores()));
  host.buffer.batches = data.pipeline_buffer_size
                            ? static_cast<std::size_t>(*data.pipeline_buffer_size)
                            : kFirstBuffer;
  host.tune_buffer = !data.pipeline_buffer_size;
  host.buffer.bytes =
      static_cast<std::size_t>(kBufferShare * static_cast<double>(memory.available_bytes));
  options.ring_slots = static_cast<std::size_t>(plan.ring_slots);
  host.staging_blocks = options.ring_slots + 2;
  if (plan.mode == Mode::Dual || plan.mode == Mode::Split) {
    options.start_delay = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(data.model_start_delay));
  }
  return options;
}

}  // namespace myxtts
