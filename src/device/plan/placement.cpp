// SPDX-License-Identifier: Apache-2.0
#include "device/plan/placement.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "device/plan/gpu_choice.h"
#include "device/plan/gpu_words.h"

namespace myxtts {
namespace {

bool asks_for_cpu(const DevicesConfig& devices) {
  return devices.device == DeviceKind::Cpu || devices.mode == Mode::Cpu;
}

// A quarter of the cores prepares data, the others train; one core serves both.
void share_cores(const DevicesConfig& devices, const CpuInfo& cpu, DevicePlan& plan) {
  const int cores = cpu.usable_cores();
  plan.data.threads = static_cast<int>(devices.data_threads.value_or(std::max(1, cores / 4)));
  plan.model.threads =
      static_cast<int>(devices.model_threads.value_or(std::max(1, cores - plan.data.threads)));
  if (plan.data.threads + plan.model.threads <= std::max(2, cores)) return;
  plan.warnings.push_back(fmt::format(
      "Data work has {} threads and training {}, but there are {} cores: they will wait for one "
      "another.",
      plan.data.threads, plan.model.threads, cores));
}

DevicePlan place_on_cpu(const RunConfig& config, const CpuInfo& cpu) {
  DevicePlan plan{.mode = Mode::Cpu, .path = BatchPath::PlainMemory};
  share_cores(config.devices, cpu, plan);
  return plan;
}

// Data work gives way to training where they share a card.
void share_one_gpu(const PlannedGpu& gpu, const DevicesConfig& devices, DevicePlan& plan) {
  plan.data = {.gpu = gpu, .priority = StreamPriority::Low};
  plan.model = {.gpu = gpu, .priority = StreamPriority::High};
  plan.path = devices.transfer_path == TransferPath::Peer   ? BatchPath::Peer
              : devices.transfer_path == TransferPath::Host ? BatchPath::PinnedHost
                                                            : BatchPath::SameDevice;
}

DevicePlan place_split(const RunConfig& config, const GpuChoice& choice) {
  DevicePlan plan{.mode = Mode::Split};
  const SplitGpu& split = *config.devices.split_gpu;
  share_one_gpu(choice.gpu("--split-gpu", split.gpu, "--split-gpu 0"), config.devices, plan);
  plan.data.multiprocessors = split.multiprocessors;
  return plan;
}

// A rank's own is the only one of --gpus.
PlannedGpu single_gpu(const RunConfig& config, const GpuChoice& choice) {
  const auto& gpus = config.parallel.gpus;
  if (!gpus) return choice.first();
  if (gpus->size() == 1) return choice.gpu("--gpus", gpus->front(), "--gpus 0");
  throw ConfigError(
      "--gpus with several GPUs, a rank on each, is for myxtts train; here name one, as in --gpus "
      "0.");
}

DevicePlan place_single(const RunConfig& config, const GpuChoice& choice) {
  DevicePlan plan{.mode = Mode::Single};
  share_one_gpu(single_gpu(config, choice), config.devices, plan);
  if (choice.size() > 1 && !config.parallel.gpus) {
    plan.notes.push_back(fmt::format(
        "One of {} GPUs is used, the others stay untouched; --gpus all trains on all of them, "
        "--data-gpu {} --model-gpu 0 uses two, and CUDA_VISIBLE_DEVICES picks another one.",
        choice.size(), 1));
  }
  return plan;
}

DevicePlan place_dual(const RunConfig& config, const GpuChoice& choice) {
  if (!config.data.model_gpu) {
    throw ConfigError(fmt::format(
        "--data-gpu {} with --gpus, a data GPU for several that train, is for myxtts train; here "
        "give --model-gpu in place of --gpus.",
        *config.data.data_gpu));
  }
  DevicePlan plan{.mode = Mode::Dual};
  choice.require_two();
  constexpr const char* kPair = "--data-gpu 0 --model-gpu 1";
  plan.data.gpu = choice.gpu("--data-gpu", *config.data.data_gpu, kPair);
  plan.model.gpu = choice.gpu("--model-gpu", *config.data.model_gpu, kPair);
  plan.model.gpu->logical = 1;
  plan.path = choice.path_between(*plan.data.gpu, *plan.model.gpu, config.devices.transfer_path,
                                  plan.notes);
  choice.warn_of_bad_pair(*plan.data.gpu, *plan.model.gpu, plan.warnings);
  return plan;
}

// Threads are given to roles only where the CPU computes.
void refuse_threads(const DevicesConfig& devices, Mode mode) {
  for (const auto& [value, flag] : {std::pair(devices.data_threads, "--data-threads"),
                                    std::pair(devices.model_threads, "--model-threads")}) {
    if (!value) continue;
    throw ConfigError(
        fmt::format("{} {} is for runs on the CPU, but this one is on a GPU ({}); leave it out, or "
                    "give --device cpu.",
                    flag, *value, name_of(mode)));
  }
}

DevicePlan place_on_gpus(const RunConfig& config, const GpuChoice& choice) {
  if (config.data.data_gpu) return place_dual(config, choice);
  if (config.devices.split_gpu) return place_split(config, choice);
  return place_single(config, choice);
}

}  // namespace

DevicePlan place_roles(const RunConfig& config, const Machine& machine,
                       const std::string& cuda_fault) {
  const DevicesConfig& devices = config.devices;
  if (devices.mode == Mode::Auto) {
    throw ConfigError(
        "--mode auto measures the modes, which myxtts train and myxtts profile --compare do; "
        "here give --mode single, or --data-gpu 0 --model-gpu 1 for two GPUs.");
  }
  if (asks_for_cpu(devices)) return place_on_cpu(config, machine.cpu);

  const std::string wish = gpu_wish(config);
  const GpuChoice choice(machine.gpus, wish, cuda_fault);
  if (choice.size() == 0) {
    DevicePlan plan = place_on_cpu(config, machine.cpu);
    plan.notes.push_back(choice.why_none());
    return plan;
  }
  DevicePlan plan = place_on_gpus(config, choice);
  refuse_threads(devices, plan.mode);
  choice.warn_of_order(plan.warnings);
  return plan;
}

}  // namespace myxtts
