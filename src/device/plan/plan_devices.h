// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "config/run_config.h"
#include "device/cuda_plugin.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "device/plan/gpu_choice.h"

namespace myxtts {

// Memory by estimate: `fixed_bytes` whatever the batch, `clip_bytes` for each clip of it.
struct MemoryNeed {
  std::int64_t fixed_bytes = 0;
  std::int64_t clip_bytes = 0;

  std::int64_t of_batch(std::int64_t clips) const { return fixed_bytes + clips * clip_bytes; }
};

// What a run needs on its devices.
struct MemoryNeeds {
  MemoryNeed model = {};  // weights, gradients, moments; activations
  MemoryNeed data = {};   // frozen networks; features
  // More on the model device where gradients of several batches are summed; nothing: they cannot
  // be.
  std::optional<std::int64_t> sum_bytes = 0;
  std::int64_t slot_bytes = 0;   // of one clip in one slot of the ring, on the model device
  std::int64_t clip_tokens = 1;  // of one clip
};

// What a run needs with this arithmetic (never Auto: the plan chooses the GPU that decides it), on
// the CPU or on GPUs.
using MemoryModel = std::function<MemoryNeeds(Precision precision, bool cpu)>;

// From settings and discovery to roles; a pure function where the memory model is one. `cuda_fault`
// is why no GPU can be used although there may be some (the CUDA plugin or the driver is missing),
// with the remedy; empty when they can.
//
// Throws ConfigError where settings contradict one another, DeviceError where this machine cannot
// fulfil them; never takes another device than the one asked for.
DevicePlan plan_devices(const RunConfig& config, const Machine& machine, const MemoryModel& memory,
                        const std::string& cuda_fault = {});

// The plan with what only CUDA knows: how many multiprocessors there are. `devices` are those that
// CUDA shows once the visible devices are set; asking for them opens no context. Throws DeviceError
// when they are not the planned ones or have fewer multiprocessors than a split asks for.
DevicePlan with_cuda_facts(DevicePlan plan, std::span<const CudaDevice> devices);

// What a process takes of a card besides its tensors: the context and the libraries' kernels.
inline constexpr std::int64_t kContextBytes = 700 * kMegabyte;

// What must be free for a need by estimate, which may be too low by so much
// (docs/results/memory.md has estimates beside measurements).
inline constexpr std::int64_t with_margin(std::int64_t bytes) {
  return bytes + bytes / 16;
}

// The second half of a plan: arithmetic, batch, slots of the ring and memory caps, for roles that
// have their places. What the person gave stands; what they left open is decided and said. Throws
// ConfigError for a cap below what the run needs by estimate, DeviceError for one above what the
// card has.
void share_memory(const RunConfig& config, const Machine& machine, const MemoryModel& memory,
                  DevicePlan& plan);

}  // namespace myxtts
