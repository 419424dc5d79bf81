// SPDX-License-Identifier: Apache-2.0
#include "pipeline/data_pipeline.h"

#include <algorithm>

#include "base/error.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

constexpr std::chrono::milliseconds kWorthSaying(50);  // of a wait for the delay

}  // namespace

std::size_t first_workers(const CpuInfo& cpu) {
  return static_cast<std::size_t>(std::max(1, cpu.usable_cores() / 4));
}

PromptMask mask_of(const TrainConfig& train) {
  return train.prompt_from == PromptFrom::Speaker ? PromptMask::None : train.prompt_mask;
}

PipelineOptions pipeline_options(const DataConfig& data, const TrainConfig& train,
                                 const DevicePlan& plan, const CpuInfo& cpu,
                                 const MemoryInfo& memory) {
  PipelineOptions options;
  HostOptions& host = options.host;
  host.mask = mask_of(train);
  host.batches_a_step = train.grad_accum;
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

std::string describe(const StartReport& report, std::size_t ring_slots) {
  std::string text =
      fmt::format("The pipeline was ready after {}: {} until the ring of {} was full",
                  human_duration(report.for_data + report.for_delay),
                  human_duration(report.for_data), ring_slots);
  if (report.for_delay >= kWorthSaying) {
    text += fmt::format(", then {} of --model-start-delay", human_duration(report.for_delay));
  }
  return text + ".";
}

}  // namespace myxtts
