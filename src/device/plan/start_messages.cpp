// SPDX-License-Identifier: Apache-2.0
#include "device/plan/start_messages.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

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

// "0 (NVIDIA L4)": label() where "GPU" has been said.
std::string numbered(const PlannedGpu& gpu) {
  return label(gpu).substr(std::string_view("GPU ").size());
}

// "GPU 0 and GPU 1", in the order of their logical numbers.
std::string visible_numbers(std::span<const DevicePlan> plans) {
  std::vector<std::string> gpus;
  for (const DevicePlan& plan : plans) {
    for (const RolePlan& role : {plan.data, plan.model}) {
      std::string gpu = fmt::format("GPU {}", role.gpu->listed);
      if (std::ranges::find(gpus, gpu) == gpus.end()) gpus.push_back(std::move(gpu));
    }
  }
  return fmt::format("{}", fmt::join(gpus, " and "));
}

Lines role_lines(const DevicePlan& plan) {
  if (!plan.model.gpu) {
    return {fmt::format("  Data processing: the CPU, {}", counted(plan.data.threads, "thread")),
            fmt::format("  Model training: the CPU, {}", counted(plan.model.threads, "thread"))};
  }
  std::string data = fmt::format("  Data Processing GPU: {}", numbered(*plan.data.gpu));
  if (plan.data.multiprocessors) {
    data += fmt::format(", {} of its multiprocessors", *plan.data.multiprocessors);
  }
  return {data, fmt::format("  Model Training GPU: {}", numbered(*plan.model.gpu))};
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

Lines configured(std::span<const DevicePlan> plans, const std::string& visible_devices) {
  const DevicePlan& plan = plans.front();
  Lines lines;
  if (plan.model.gpu) {
    lines.push_back(
        fmt::format("  Set visible devices: {} ({})", visible_numbers(plans), visible_devices));
    lines.push_back(memory_line(plan));
  }
  lines.push_back(fmt::format("{} configuration completed successfully", title(plan.mode)));
  return lines;
}

Lines pipeline_made(const DevicePlan& plan, std::size_t workers, std::size_t buffer_batches) {
  return {fmt::format("Intelligent GPU Pipeline: {} Mode", pipeline_title(plan.mode)),
          fmt::format("  Buffer Size: {} at most, decoded in host memory by {}",
                      counted(static_cast<std::int64_t>(buffer_batches), "batch", "batches"),
                      counted(static_cast<std::int64_t>(workers), "worker")),
          fmt::format("  Smart Prefetching: Enabled, {} ahead of training, filled {}",
                      counted(plan.ring_slots, "batch", "batches"), way(plan)),
          fmt::format("  Prefetching to {}{} with buffer_size={}", torch_name(plan.model),
                      plan.model.gpu ? " on " + label(*plan.model.gpu) : "", buffer_batches)};
}

Lines placing_model(const DevicePlan& plan) {
  const std::string device = torch_name(plan.model);
  const std::string creating = fmt::format("Creating model on device: {}", device);
  if (!plan.model.gpu) return {"Model will be placed on cpu", creating};
  const PlannedGpu& gpu = *plan.model.gpu;
  return {
      fmt::format("Model will be placed on {} (original GPU {}{})", device, gpu.listed,
                  gpu.listed == gpu.physical ? "" : fmt::format(", nvidia-smi's {}", gpu.physical)),
      creating};
}

Lines waiting(const DevicePlan& plan, std::chrono::nanoseconds delay) {
  const std::string full = counted(plan.ring_slots, "batch is", "batches are");
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
  return {waited, "Model training starting now",
          fmt::format("Starting training on {}", torch_name(plan.model))};
}

}  // namespace myxtts
