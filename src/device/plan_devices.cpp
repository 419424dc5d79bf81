// SPDX-License-Identifier: Apache-2.0
#include "device/plan_devices.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/error.h"
#include "config/effective_config.h"
#include "device/plan/gpu_words.h"
#include "device/plan/memory_share.h"
#include "device/plan/placement.h"

namespace myxtts {
namespace {

// NVML writes the domain with eight digits, CUDA with four: "00000000:19:00.0" is "0000:19:00.0".
std::string short_bus_id(std::string id) {
  const auto colon = id.find(':');
  if (colon != std::string::npos && colon > 4) id.erase(0, colon - 4);
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return id;
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
