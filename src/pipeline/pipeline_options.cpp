// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pipeline_options.h"

#include <algorithm>

namespace myxtts {

std::size_t first_workers(const CpuInfo& cpu) {
  return static_cast<std::size_t>(std::max(1, cpu.usable_cores() / 4));
}

std::size_t first_buffer(std::int64_t free_bytes, std::int64_t batch_bytes,
                         std::int64_t batches_per_epoch) {
  constexpr std::int64_t kFewest = 4;
  const auto held = static_cast<std::int64_t>(kBufferShare * static_cast<double>(free_bytes)) /
                    std::max<std::int64_t>(1, batch_bytes);
  const auto most =
      std::min(static_cast<std::int64_t>(PipelineOptions{}.buffer_batches), batches_per_epoch);
  return static_cast<std::size_t>(std::max(kFewest, std::min(held, most)));
}

PipelineOptions pipeline_options(const DataConfig& data, const TrainConfig& train,
                                 const DevicePlan& plan, const CpuInfo& cpu,
                                 const MemoryInfo& memory) {
  PipelineOptions options;
  const bool is_own = train.prompt_from == PromptFrom::Clip;  // those of other clips hide nothing
  options.mask = is_own ? train.prompt_mask : PromptMask::None;
  options.batches_a_step = train.grad_accum;
  options.workers =
      data.num_workers ? static_cast<std::size_t>(*data.num_workers) : first_workers(cpu);
  options.most_workers =
      data.num_workers ? options.workers
                       : std::max(options.workers, static_cast<std::size_t>(cpu.usable_cores()));
  if (data.pipeline_buffer_size) {
    options.buffer_batches = static_cast<std::size_t>(*data.pipeline_buffer_size);
  }
  options.tune_buffer = !data.pipeline_buffer_size;
  options.buffer_bytes =
      static_cast<std::size_t>(kBufferShare * static_cast<double>(memory.available_bytes));
  options.ring_slots = static_cast<std::size_t>(plan.ring_slots);
  if (plan.mode == Mode::Dual || plan.mode == Mode::Split) {
    options.start_delay = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(data.model_start_delay));
  }
  return options;
}

}  // namespace myxtts
