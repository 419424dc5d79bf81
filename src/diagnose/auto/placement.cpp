// SPDX-License-Identifier: Apache-2.0
#include "diagnose/auto/placement.h"

#include <algorithm>

#include <fmt/format.h>

namespace myxtts {
namespace {

// Multiprocessors for data work; nothing is the plan's own choice, half of the card. How many there
// are is not known before a card is opened.
constexpr std::optional<std::int64_t> kSplits[] = {std::nullopt, 16, 32};

constexpr std::int64_t kRanks[] = {2, 4, 8};

std::string split_text(const SplitGpu& split) {
  return split.multiprocessors ? fmt::format("{}:{}", split.gpu, *split.multiprocessors)
                               : fmt::format("{}", split.gpu);
}

std::vector<Placement> on_gpus(const Machine& machine, const DevicePlan& usual) {
  std::vector<Placement> found{{.mode = Mode::Single}};
  const std::int64_t gpu = usual.model.gpu->listed;
  for (const auto& multiprocessors : kSplits) {
    found.push_back({.mode = Mode::Split, .split_gpu = SplitGpu{gpu, multiprocessors}});
  }
  // Of many cards the first two stand for all pairs: cards of one machine are mostly alike.
  if (machine.gpus.gpus.size() < 2) return found;
  found.push_back({.mode = Mode::Dual, .data_gpu = 1, .model_gpu = 0});
  found.push_back({.mode = Mode::Dual, .data_gpu = 0, .model_gpu = 1});
  return found;
}

// The plan's own share first; then less and more for either role, and roles that share cores.
std::vector<Placement> on_cpu(const DevicesConfig& devices, const Machine& machine) {
  const std::int64_t cores = machine.cpu.usable_cores();
  const std::int64_t quarter = std::max<std::int64_t>(1, cores / 4);
  const std::int64_t half = std::max<std::int64_t>(1, cores / 2);
  const auto rest = [cores](std::int64_t taken) {
    return std::max<std::int64_t>(1, cores - taken);
  };
  const std::pair<std::int64_t, std::int64_t> shares[] = {
      {quarter, rest(quarter)}, {1, rest(1)}, {half, rest(half)}, {1, cores}, {cores, cores}};
  std::vector<Placement> found;
  for (const auto& [data, model] : shares) {
    const Placement placement{.mode = Mode::Cpu,
                              .data_threads = devices.data_threads.value_or(data),
                              .model_threads = devices.model_threads.value_or(model)};
    if (std::find(found.begin(), found.end(), placement) == found.end()) found.push_back(placement);
  }
  return found;
}

// Ranks that take the clips of the same steps between them. Threads are theirs to share, so there
// are none where somebody has set threads, nor where a step has no fixed number of clips.
std::vector<Placement> ranks_on_cpu(const RunConfig& config, const Machine& machine,
                                    const DevicePlan& usual) {
  const DevicesConfig& devices = config.devices;
  if (devices.data_threads || devices.model_threads || config.train.batch_tokens) return {};
  const std::int64_t batch = config.train.batch_size.value_or(usual.batch_size);
  std::vector<Placement> found;
  for (const std::int64_t ranks : kRanks) {
    if (ranks > machine.cpu.usable_cores() || batch % ranks != 0) continue;
    found.push_back({.mode = Mode::Cpu, .ranks = ranks, .rank_batch_size = batch / ranks});
  }
  return found;
}

}  // namespace

std::string name_of(const Placement& placement) {
  std::string name = name_of(placement.mode);
  if (placement.split_gpu) name += " " + split_text(*placement.split_gpu);
  if (placement.data_gpu) {
    name += fmt::format(" {} to {}", *placement.data_gpu, *placement.model_gpu);
  }
  if (placement.data_threads) {
    name += fmt::format(" {} + {} threads", *placement.data_threads, *placement.model_threads);
  }
  if (placement.ranks) name += fmt::format(" {} ranks", *placement.ranks);
  return placement.cached ? name + ", cached" : name;
}

std::string flags_of(const Placement& placement) {
  std::string flags = "--mode single";
  if (placement.split_gpu) flags = "--split-gpu " + split_text(*placement.split_gpu);
  if (placement.data_gpu) {
    flags = fmt::format("--data-gpu {} --model-gpu {}", *placement.data_gpu, *placement.model_gpu);
  }
  if (placement.data_threads) {
    flags = fmt::format("--device cpu --data-threads {} --model-threads {}",
                        *placement.data_threads, *placement.model_threads);
  }
  if (placement.ranks) {
    flags = fmt::format("--device cpu --ranks {} --batch-size {}", *placement.ranks,
                        placement.rank_batch_size);
  }
  return placement.cached ? flags + " --cache-dataset" : flags;
}

RunConfig placed(RunConfig config, const Placement& placement, const DevicePlan& usual) {
  config.devices.mode = placement.mode;
  config.devices.split_gpu = placement.split_gpu;
  config.devices.data_threads = placement.data_threads;
  config.devices.model_threads = placement.model_threads;
  config.data.data_gpu = placement.data_gpu;
  config.data.model_gpu = placement.model_gpu;
  config.data.cache_dataset = placement.cached;
  if (!config.train.batch_size && !config.train.batch_tokens) {
    config.train.batch_size = usual.batch_size;
    config.train.grad_accum = usual.grad_accum;
  }
  if (placement.ranks) {
    config.parallel.ranks = *placement.ranks;
    config.train.batch_size = placement.rank_batch_size;
  }
  return config;
}

std::vector<Placement> possible_placements(const RunConfig& config, const Machine& machine,
                                           const DevicePlan& usual) {
  auto found = usual.model.gpu ? on_gpus(machine, usual) : on_cpu(config.devices, machine);
  if (!usual.model.gpu) {
    for (const Placement& ranks : ranks_on_cpu(config, machine, usual)) found.push_back(ranks);
  }
  for (Placement& placement : found) placement.cached = config.data.cache_dataset;
  return found;
}

bool may_cache(const EffectiveConfig& settings, const std::optional<Placement>& chosen) {
  const Origin::Kind origin = settings.origin_of("data.cache_dataset").kind;
  if (origin == Origin::Kind::Default) return true;
  return origin == Origin::Kind::File && !settings.values.data.cache_dataset && chosen &&
         chosen->cached;
}

}  // namespace myxtts
