// SPDX-License-Identifier: Apache-2.0
#include "diagnose/memory/saving_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/human.h"
#include "config/stage_defaults.h"
#include "device/plan/defaults.h"
#include "device/plan_devices.h"
#include "diagnose/memory/memory_model.h"

namespace myxtts {
namespace {

constexpr std::int64_t kWorthwhileBatch = 4;  // clips; smaller ones leave most of a GPU idle

// What the model role may take.
std::int64_t room_of(const DevicePlan& plan) {
  const std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  const std::int64_t cap = plan.model.memory_cap_bytes.value_or(no_limit);
  if (!plan.model.gpu) return cap;
  const std::int64_t card = plan.model.gpu->memory_bytes;
  const bool shared = plan.mode != Mode::Dual;
  return std::min(cap, card - card / 32 - kContextBytes - (shared ? plan.data.estimated_bytes : 0));
}

std::string size_of(std::int64_t bytes) {
  return human_size(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

std::string what_is_saved(const MemorySavers& savers) {
  std::vector<std::string> parts;
  if (savers.moments == Moments::Bf16) parts.emplace_back("AdamW's averages are kept in bf16");
  if (savers.moments == Moments::EightBit) parts.emplace_back("AdamW's averages in 8 bits");
  if (savers.recompute) parts.emplace_back("layers are computed a second time");
  if (savers.release_gradients) parts.emplace_back("gradients are let go of as they are used");
  return fmt::format("{}", fmt::join(parts, ", "));
}

void tell(DevicePlan& found, const MemorySavers& plain) {
  if (found.savers == plain) return;
  found.notes.push_back(fmt::format(
      "To fit into {}, {}: {} by estimate; --moments, --recompute and --release-gradients set it.",
      size_of(room_of(found)), what_is_saved(found.savers), size_of(found.model.estimated_bytes)));
}

}  // namespace

bool fits_by_estimate(const DevicePlan& plan) {
  return with_margin(plan.model.estimated_bytes) <= room_of(plan);
}

std::vector<MemorySavers> saver_choices(const TrainConfig& train) {
  const bool can_release =
      !train.grad_clip && train.grad_accum == 1 && train.precision != Precision::Fp16;
  const std::vector<MemorySavers> by_price = {
      {},
      {.moments = Moments::Bf16},
      {.recompute = true, .moments = Moments::Bf16},
      {.recompute = true, .moments = Moments::EightBit},
      {.recompute = true, .moments = Moments::EightBit, .release_gradients = can_release}};
  std::vector<MemorySavers> choices;
  for (const MemorySavers& usual : by_price) {
    const MemorySavers choice = {
        .recompute = train.recompute.value_or(usual.recompute),
        .moments = train.moments.value_or(usual.moments),
        .release_gradients = train.release_gradients.value_or(usual.release_gradients)};
    if (choices.empty() || choices.back() != choice) choices.push_back(choice);
  }
  return choices;
}

namespace {

// What suits its windows, rather than as many clips as memory holds; the savers are the GPT's.
DevicePlan plan_stage(RunConfig config, const Machine& machine, const ModelConfig& model,
                      const std::string& cuda_fault) {
  TrainConfig& train = config.train;
  if (!train.batch_size && !train.batch_tokens) train.batch_size = usual_batch_size(train.stage);
  DevicePlan plan = plan_devices(config, machine, stage_memory_model(model, train), cuda_fault);
  plan.savers.moments = train.moments.value_or(Moments::Fp32);
  plan.notes.push_back(
      fmt::format("The memory of the stage {} is a rough estimate.", name_of(train.stage)));
  return plan;
}

}  // namespace

DevicePlan plan_with_savers(const RunConfig& config, const Machine& machine,
                            const ModelConfig& model, const std::string& cuda_fault) {
  if (config.train.stage != Stage::Gpt) return plan_stage(config, machine, model, cuda_fault);
  const auto choices = saver_choices(config.train);
  const auto planned = [&](const MemorySavers& savers) {
    const auto memory = usual_memory_model(model, savers, config.train.guide > 0);
    DevicePlan plan = plan_devices(config, machine, memory, cuda_fault);
    plan.savers = savers;
    return plan;
  };
  std::vector<DevicePlan> fitting;
  for (const MemorySavers& savers : choices) {
    try {
      DevicePlan found = planned(savers);
      if (fits_by_estimate(found)) fitting.push_back(std::move(found));
    } catch (const ConfigError&) {
      continue;  // too little for these savers, or a fault that the plan without any meets again
    }
    if (fitting.empty()) continue;
    if (config.train.batch_size || fitting.back().batch_size >= kWorthwhileBatch) break;
  }
  if (fitting.empty()) return planned(choices.front());
  // Of equally large batches the first, which is the cheapest.
  auto best = std::ranges::max_element(fitting, {},
                                       [](const DevicePlan& found) { return found.batch_size; });
  tell(*best, choices.front());
  return std::move(*best);
}

}  // namespace myxtts
