// SPDX-License-Identifier: Apache-2.0
#include "device/plan/start_messages.h"

#include <fmt/format.h>

#include "base/message_text.h"
#include "device/plan/gpu_choice.h"

namespace myxtts {
namespace {

std::string title(Mode mode) {
  switch (mode) {
    case Mode::Dual:
      return "Multi-GPU";
    case Mode::Split:
      return "Split-GPU";
    case Mode::Single:
      return "Single-GPU";
    default:
      return "CPU";
  }
}

std::string pipeline_title(Mode mode) {
  return mode == Mode::Single ? "Single-GPU Buffered" : title(mode);
}

std::string torch_name(const RolePlan& role) {
  return role.gpu ? fmt::format("cuda:{}", role.gpu->logical) : "cpu";
}

std::string counted(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

Lines role_lines(const DevicePlan& plan) {
  if (!plan.model.gpu) {
    return {fmt::format("  Data processing: the CPU, {}",
                        counted(plan.data.threads, "thread", "threads")),
            fmt::format("  Model training: the CPU, {}",
                        counted(plan.model.threads, "thread", "threads"))};
  }
  std::string data = fmt::format("  Data processing GPU: {}", label(*plan.data.gpu));
  if (plan.data.multiprocessors) {
    data += fmt::format(", {} of its multiprocessors", *plan.data.multiprocessors);
  }
  return {data, fmt::format("  Model training GPU: {}", label(*plan.model.gpu))};
}

std::string memory_line(const DevicePlan& plan) {
  if (!plan.data.memory_cap_bytes && !plan.model.memory_cap_bytes) {
    return "  Memory growth: as needed, no caps";
  }
  const auto cap = [](const RolePlan& role) {
    return role.memory_cap_bytes ? megabytes(*role.memory_cap_bytes) : std::string("no cap");
  };
  return fmt::format("  Memory caps: data {}, model {}", cap(plan.data), cap(plan.model));
}

std::string way(const DevicePlan& plan) {
  switch (plan.path) {
    case BatchPath::P2p:
      return "by peer access";
    case BatchPath::PinnedHost:
      return "through pinned host memory";
    case BatchPath::SameDevice:
      return "on the same GPU";
    case BatchPath::PlainMemory:
      return "in plain memory";
  }
  return "?";
}

bool waits_for_delay(const DevicePlan& plan) {
  return plan.mode == Mode::Dual || plan.mode == Mode::Split;
}

}  // namespace

Lines configuring(const DevicePlan& plan) {
  Lines lines{fmt::format("Configuring {} Mode", title(plan.mode))};
  for (std::string& line : role_lines(plan)) lines.push_back(std::move(line));
  return lines;
}

Lines configured(const DevicePlan& plan, const std::string& visible_devices) {
  Lines lines;
  if (plan.model.gpu) {
    lines.push_back(fmt::format("  Visible devices set: {}", visible_devices));
    lines.push_back(memory_line(plan));
  }
  lines.push_back(fmt::format("{} configuration completed successfully", title(plan.mode)));
  return lines;
}

Lines pipeline_made(const DevicePlan& plan, const PipelineFacts& facts) {
  return {fmt::format("Intelligent GPU Pipeline: {} Mode", pipeline_title(plan.mode)),
          fmt::format("  Buffer size: up to {} decoded in host memory by {}",
                      counted(facts.buffer_batches, "batch", "batches"),
                      counted(facts.workers, "worker", "workers")),
          fmt::format("  Prefetching to {}{}: buffer of {}, filled {}", torch_name(plan.model),
                      plan.model.gpu ? " on " + label(*plan.model.gpu) : "",
                      counted(facts.ring_slots, "batch", "batches"), way(plan))};
}

Lines placing_model(const DevicePlan& plan) {
  if (!plan.model.gpu) return {"Model will be placed on cpu"};
  return {fmt::format("Model will be placed on {} (original GPU {})", torch_name(plan.model),
                      plan.model.gpu->physical)};
}

Lines waiting(const DevicePlan& plan, const PipelineFacts& facts, std::chrono::nanoseconds delay) {
  const std::string full = counted(facts.ring_slots, "batch is", "batches are");
  if (!waits_for_delay(plan)) {
    return {fmt::format("Waiting for data pipeline to warm up until {} ready", full)};
  }
  return {fmt::format("Waiting {:.1f}s for data pipeline to warm up, and until {} ready",
                      std::chrono::duration<double>(delay).count(), full)};
}

Lines training_starts(const DevicePlan& plan, const StartWait& wait) {
  std::string waited =
      fmt::format("  Waited {} for data ({} ready on {})", human_duration(wait.for_data),
                  counted(wait.ready_batches, "batch", "batches"), torch_name(plan.model));
  if (waits_for_delay(plan)) {
    waited +=
        wait.for_delay < std::chrono::milliseconds(1)
            ? ", which took longer than --model-start-delay"
            : fmt::format(" and {} more for --model-start-delay", human_duration(wait.for_delay));
  }
  return {waited, "Model training starting now"};
}

}  // namespace myxtts
