// SPDX-License-Identifier: Apache-2.0
#include "device/plan/device_plan.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/message_text.h"
#include "device/plan/gpu_choice.h"

namespace myxtts {

std::vector<std::string> DevicePlan::visible_uuids() const {
  std::vector<std::string> uuids;
  if (data.gpu) uuids.push_back(data.gpu->uuid);
  if (model.gpu && model.gpu->physical != data.gpu->physical) uuids.push_back(model.gpu->uuid);
  return uuids;
}

std::string name_of(Mode mode) {
  switch (mode) {
    case Mode::Auto:
      return "auto";
    case Mode::Dual:
      return "dual";
    case Mode::Single:
      return "single";
    case Mode::Split:
      return "split";
    case Mode::Cpu:
      return "cpu";
  }
  return "?";
}

std::string name_of(BatchPath path) {
  switch (path) {
    case BatchPath::P2p:
      return "peer access";
    case BatchPath::PinnedHost:
      return "pinned host memory";
    case BatchPath::SameDevice:
      return "same device";
    case BatchPath::PlainMemory:
      return "plain memory";
  }
  return "?";
}

std::string name_of(Precision precision) {
  switch (precision) {
    case Precision::Auto:
      return "auto";
    case Precision::Fp32:
      return "fp32";
    case Precision::Tf32:
      return "tf32";
    case Precision::Bf16:
      return "bf16";
    case Precision::Fp16:
      return "fp16";
  }
  return "?";
}

std::string name_of(Moments moments) {
  switch (moments) {
    case Moments::Fp32:
      return "fp32";
    case Moments::Bf16:
      return "bf16";
    case Moments::EightBit:
      return "8bit";
  }
  return {};
}

std::string name_of(StreamPriority priority) {
  switch (priority) {
    case StreamPriority::Low:
      return "low";
    case StreamPriority::Normal:
      return "normal";
    case StreamPriority::High:
      return "high";
  }
  return "?";
}

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
    return {role, "CPU", "cpu", counted(plan.threads, "thread"), "", cap, need};
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
    case BatchPath::P2p:
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
  std::string text = plan.batch_tokens
                         ? fmt::format("  {} tokens a batch", human_count(*plan.batch_tokens))
                         : fmt::format("  {} a batch", counted(plan.batch_size, "clip"));
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

namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json gpu_json(const PlannedGpu& gpu) {
  return {{"physical", gpu.physical},
          {"listed", gpu.listed},
          {"logical", gpu.logical},
          {"name", gpu.name},
          {"uuid", gpu.uuid},
          {"pci_bus_id", gpu.pci_bus_id},
          {"memory_bytes", gpu.memory_bytes}};
}

Json role_json(const RolePlan& role) {
  return {{"device", role.gpu ? "cuda:" + std::to_string(role.gpu->logical) : "cpu"},
          {"gpu", role.gpu ? gpu_json(*role.gpu) : Json(nullptr)},
          {"memory_cap_bytes", or_null(role.memory_cap_bytes)},
          {"multiprocessors", or_null(role.multiprocessors)},
          {"stream_priority", name_of(role.priority)},
          {"threads", role.threads},
          {"estimated_bytes", role.estimated_bytes}};
}

}  // namespace

std::string to_json(const DevicePlan& plan) {
  const Json json{{"mode", name_of(plan.mode)},
                  {"data", role_json(plan.data)},
                  {"model", role_json(plan.model)},
                  {"path", name_of(plan.path)},
                  {"precision", name_of(plan.precision)},
                  {"batch_size", plan.batch_size},
                  {"batch_tokens", or_null(plan.batch_tokens)},
                  {"grad_accum", plan.grad_accum},
                  {"ring_slots", plan.ring_slots},
                  {"savers",
                   {{"recompute", plan.savers.recompute},
                    {"moments", name_of(plan.savers.moments)},
                    {"release_gradients", plan.savers.release_gradients}}},
                  {"notes", plan.notes},
                  {"warnings", plan.warnings}};
  // Names of cards come from the driver and need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_plan(const DevicePlan& plan, const std::filesystem::path& run_directory) {
  const std::string json = to_json(plan);
  AtomicFile file(run_directory / "plan.json");
  file.write(std::as_bytes(std::span(json)));
  file.commit();
}

}  // namespace myxtts
