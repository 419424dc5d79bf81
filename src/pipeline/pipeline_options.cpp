// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pipeline_options.h"

#include <algorithm>

namespace myxtts {

std::size_t first_workers(const CpuInfo& cpu) {
  return static_cast<std::size_t>(std::max(1, cpu.usable_cores() / 4));
}

PipelineOptions pipeline_options(const DataConfig& data, const TrainConfig& train,
                                 const DevicePlan& plan, const CpuInfo& cpu,
                                 const MemoryInfo& memory) {
  PipelineOptions options;
  const bool is_own = train.prompt_from == PromptFrom::Clip;  // those of other clips hide nothing
  options.rows.mask = is_own ? train.prompt_mask : PromptMask::None;
  options.rows.batches_a_step = train.grad_accum;
  options.workers =
      data.num_workers ? static_cast<std::size_t>(*data.num_workers) : first_workers(cpu);
  options.most_workers =
      data.num_workers ? options.workers
                       : std::max(options.workers, static_cast<std::size_t>(cpu.usable_cores()));
  options.buffer.batches = data.pipeline_buffer_size
                               ? static_cast<std::size_t>(*data.pipeline_buffer_size)
                               : kFirstBuffer;
  options.tune_buffer = !data.pipeline_buffer_size;
  options.buffer.bytes =
      static_cast<std::size_t>(kBufferShare * static_cast<double>(memory.available_bytes));
  options.ring_slots = static_cast<std::size_t>(plan.ring_slots);
  if (plan.mode == Mode::Dual || plan.mode == Mode::Split) {
    options.start_delay = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(data.model_start_delay));
  }
  return options;
}

}  // namespace myxtts
