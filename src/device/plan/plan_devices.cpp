// SPDX-License-Identifier: Apache-2.0
#include "device/plan/plan_devices.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "config/effective_config.h"
#include "config/run_config.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "device/plan/gpu_choice.h"

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
  plan.path = devices.transfer_path == TransferPath::P2p    ? BatchPath::P2p
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
  const auto& gpus = config.devices.gpus;
  if (!gpus) return choice.first();
  if (gpus->size() == 1) return choice.gpu("--gpus", gpus->front(), "--gpus 0");
  throw ConfigError(
      "--gpus with several GPUs, a rank on each, is for myxtts train; here name one, as in --gpus "
      "0.");
}

DevicePlan place_single(const RunConfig& config, const GpuChoice& choice) {
  DevicePlan plan{.mode = Mode::Single};
  share_one_gpu(single_gpu(config, choice), config.devices, plan);
  if (choice.size() > 1 && !config.devices.gpus) {
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
  choice.require_two(gpu_flags(config));
  constexpr const char* kPair = "--data-gpu 0 --model-gpu 1";
  const auto gpu = [&choice](const char* flag, std::int64_t number) {
    return choice.gpu(fmt::format("{}: {}", kTooFewGpus, flag), number, kPair);
  };
  plan.data.gpu = gpu("--data-gpu", *config.data.data_gpu);
  plan.model.gpu = gpu("--model-gpu", *config.data.model_gpu);
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

// The first half of a plan: mode, roles and how batches travel, with the warnings that follow from
// the cards' places. Memory is left open. Throws as plan_devices() does.
DevicePlan place_roles(const RunConfig& config, const Machine& machine,
                       const std::string& cuda_fault) {
  const DevicesConfig& devices = config.devices;
  if (devices.mode == Mode::Auto) {
    throw ConfigError(
        "--mode auto measures the modes, which myxtts train and myxtts profile --compare do; "
        "here give --mode single, or --data-gpu 0 --model-gpu 1 for two GPUs.");
  }
  if (asks_for_cpu(devices)) return place_on_cpu(config, machine.cpu);

  const std::string flags = gpu_flags(config);
  const GpuChoice choice(machine.gpus, flags, cuda_fault);
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

const CudaDevice& device_of(const PlannedGpu& gpu, std::span<const CudaDevice> devices) {
  for (const CudaDevice& device : devices) {
    if (device.index != gpu.logical) continue;
    if (short_bus_id(device.pci_bus_id) == short_bus_id(gpu.pci_bus_id)) return device;
    throw DeviceError(fmt::format("CUDA shows the card at {} as cuda:{}, but {} at {} was chosen.",
                                  device.pci_bus_id, gpu.logical, label(gpu), gpu.pci_bus_id));
  }
  throw DeviceError(
      fmt::format("CUDA does not show {}, only {} of the chosen GPUs; see: myxtts "
                  "doctor.",
                  label(gpu), devices.size()));
}

// About half of the card, in the steps that newer cards can be divided by. Training goes first
// there as everywhere, so data work gets what is left between its kernels.
std::int64_t usual_part(int multiprocessors) {
  return std::clamp<std::int64_t>(multiprocessors / 2 / 8 * 8, std::min(8, multiprocessors),
                                  multiprocessors);
}

// Features of clips take about a fifth of a card's time beside training. Training goes first, so a
// part of the card must be well larger than that to get it.
constexpr std::int64_t kFewestParts = 3;

void warn_of_few(DevicePlan& plan, const CudaDevice& device) {
  const std::int64_t given = *plan.data.multiprocessors;
  if (given * kFewestParts >= device.multiprocessors) return;
  plan.warnings.push_back(fmt::format(
      "{} of {} multiprocessors are few for data work, which gets them only while training leaves "
      "them: clips whose features are not cached may be waited for. Give --split-gpu {}:{}, or "
      "cache them with myxtts prepare --codes.",
      given, device.multiprocessors, plan.data.gpu->listed, usual_part(device.multiprocessors)));
}

void divide(DevicePlan& plan, const CudaDevice& device) {
  const PlannedGpu& gpu = *plan.data.gpu;
  if (!plan.data.multiprocessors) {
    plan.data.multiprocessors = usual_part(device.multiprocessors);
    plan.notes.push_back(
        fmt::format("Data work gets {} of {} multiprocessors; --split-gpu {}:N sets it.",
                    *plan.data.multiprocessors, device.multiprocessors, gpu.listed));
  }
  warn_of_few(plan, device);
  if (*plan.data.multiprocessors <= device.multiprocessors) return;
  throw DeviceError(fmt::format(
      "--split-gpu {}:{} asks for {} multiprocessors, but {} has {}; give at most {}, as in "
      "--split-gpu {}:{}.",
      gpu.listed, *plan.data.multiprocessors, *plan.data.multiprocessors, label(gpu),
      device.multiprocessors, device.multiprocessors, gpu.listed,
      usual_part(device.multiprocessors)));
}

}  // namespace

DevicePlan plan_devices(const RunConfig& config, const Machine& machine, const MemoryModel& memory,
                        const std::string& cuda_fault) {
  check_consistency({.values = config, .origins = {}});
  DevicePlan plan = place_roles(config, machine, cuda_fault);
  share_memory(config, machine, memory, plan);
  return plan;
}

DevicePlan with_cuda_facts(DevicePlan plan, std::span<const CudaDevice> devices) {
  if (!plan.data.gpu) return plan;
  const CudaDevice& data = device_of(*plan.data.gpu, devices);
  device_of(*plan.model.gpu, devices);
  if (plan.mode == Mode::Split) divide(plan, data);
  return plan;
}

}  // namespace myxtts
