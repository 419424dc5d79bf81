// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/human.h"
#include "device/device_plan.h"
#include "device/plan/gpu_words.h"

namespace myxtts {
namespace {

constexpr std::size_t kColumns = 7;
using Row = std::array<std::string, kColumns>;

std::string number(const PlannedGpu& gpu) {
  if (gpu.listed == gpu.physical) return fmt::format("GPU {}", gpu.listed);
  return fmt::format("GPU {} (nvidia-smi's {})", gpu.listed, gpu.physical);
}

Row row_of(const std::string& role, const RolePlan& plan) {
  const std::string cap = plan.memory_cap_bytes ? megabytes(*plan.memory_cap_bytes) : "none";
  const std::string need = megabytes(plan.estimated_bytes);
  if (!plan.gpu) {
    return {
        role, "CPU", "cpu", fmt::format("{} thread{}", plan.threads, plan.threads == 1 ? "" : "s"),
        "",   cap,   need};
  }
  const std::string share = plan.multiprocessors
                                ? fmt::format("{} multiprocessors", *plan.multiprocessors)
                                : fmt::format("{} priority", name_of(plan.priority));
  return {role,
          number(*plan.gpu),
          fmt::format("cuda:{}", plan.gpu->logical),
          fmt::format("{}, {}", plan.gpu->name, share),
          megabytes(plan.gpu->memory_bytes),
          cap,
          need};
}

std::string laid_out(const std::vector<Row>& rows) {
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < kColumns; ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = " ";
    for (std::size_t column = 0; column < kColumns; ++column) {
      if (widths[column] == 0) continue;
      const bool is_figure = column >= 4;
      line += is_figure ? fmt::format(" {:>{}} ", row[column], widths[column])
                        : fmt::format(" {:<{}} ", row[column], widths[column]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string way(BatchPath path) {
  switch (path) {
    case BatchPath::Peer:
      return "from card to card by peer access";
    case BatchPath::PinnedHost:
      return "through pinned host memory";
    case BatchPath::SameDevice:
      return "on the card itself";
    case BatchPath::PlainMemory:
      return "in plain memory";
  }
  return "?";
}

std::string batches(const DevicePlan& plan) {
  std::string text =
      plan.batch_tokens
          ? fmt::format("  {} tokens a batch", human_count(*plan.batch_tokens))
          : fmt::format("  {} clip{} a batch", plan.batch_size, plan.batch_size == 1 ? "" : "s");
  if (plan.grad_accum > 1) text += fmt::format(", {} batches a step", plan.grad_accum);
  return text + fmt::format(", {}; {} slots in the ring, filled {}\n", name_of(plan.precision),
                            plan.ring_slots, way(plan.path));
}

}  // namespace

std::string describe(const DevicePlan& plan) {
  const bool cpu = !plan.model.gpu;
  const Row heading{
      "role", "device",          "LibTorch", cpu ? "cores" : "card", cpu ? "" : "memory",
      "cap",  "needs (estimate)"};
  std::string text = fmt::format("Device plan: {}\n", name_of(plan.mode));
  text += laid_out({heading, row_of("data", plan.data), row_of("model", plan.model)});
  text += batches(plan);
  for (const std::string& note : plan.notes) text += fmt::format("  note: {}\n", note);
  for (const std::string& warning : plan.warnings) text += fmt::format("  warning: {}\n", warning);
  return text;
}

}  // namespace myxtts
