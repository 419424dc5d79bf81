// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"

namespace myxtts {

// Memory as a person types it for a cap and nvidia-smi shows it: MB of 1,048,576 bytes.
inline constexpr std::int64_t kMegabyte = 1 << 20;

// How every error about two roles that have no GPU each begins.
inline constexpr const char* kTooFewGpus = "Insufficient GPUs for Multi-GPU Mode";

// "1,234 MB", rounded up: a cap of the printed size is enough.
std::string megabytes(std::int64_t bytes);

// "GPU 0 (NVIDIA L4)"; "GPU 0 (nvidia-smi's 2, NVIDIA L4)" where the two numbers differ.
std::string label(const PlannedGpu& gpu);

// A card's place as CUDA writes it. NVML writes the domain with eight digits, CUDA with four:
// "00000000:19:00.0" is "0000:19:00.0".
std::string short_bus_id(std::string id);

// The GPUs a person may name, in the order their numbers count: all of them, or those of
// CUDA_VISIBLE_DEVICES where that is set (numbers, UUIDs or beginnings of UUIDs; -1 ends the list).
// Throws DeviceError for an entry that is not there, stands twice or names part of a GPU.
std::vector<GpuInfo> visible_gpus(const GpuInventory& inventory);

// Lets CUDA see the planned GPUs alone, by UUID and in the order of their logical numbers; nothing
// at all for a plan on the CPU. Must happen before the CUDA plugin is opened, which is checked, and
// while no other thread reads the environment.
void set_visible_devices(const DevicePlan& plan);
// The same for plans of several ranks, whose logical numbers count through the GPUs of all.
void set_visible_devices(std::span<const DevicePlan> plans);

// Sets the visible devices and opens the CUDA plugin, where the plan has a GPU; gives the plan with
// what CUDA says of them. No context is made. Throws DeviceError.
DevicePlan open_devices(DevicePlan plan);
std::vector<DevicePlan> open_devices(std::vector<DevicePlan> plans);

// The flags that cannot be meant without a GPU, as typed ("--data-gpu 0 --model-gpu 1"); empty when
// there are none.
std::string gpu_flags(const RunConfig& config);

// The GPUs that a plan may take, by the numbers a person types.
class GpuChoice {
 public:
  // Throws DeviceError when flags ask for a GPU and there is none, when there are GPUs and
  // CUDA cannot use them (`cuda_fault`), or when CUDA_VISIBLE_DEVICES cannot be followed.
  GpuChoice(const GpuInventory& inventory, const std::string& flags, const std::string& cuda_fault);

  std::size_t size() const { return gpus_.size(); }

  // Why there is nothing to choose from, as a sentence.
  std::string why_none() const;

  // Throws DeviceError unless there are two.
  void require_two(const std::string& flags) const;

  // The GPU a flag names, with which the sentence begins. Throws DeviceError when it cannot be
  // used, or is not there: then with `remedy`, flags that would work.
  PlannedGpu gpu(const std::string& flag, std::int64_t number, const std::string& remedy) const;
  PlannedGpu first() const { return usable(0); }

  // How batches go between two cards; says so when it had to be guessed. Throws DeviceError when
  // the way asked for is not there.
  BatchPath path_between(const PlannedGpu& data, const PlannedGpu& model, TransferPath wanted,
                         std::vector<std::string>& notes) const;

  // Cards that are far apart, and a weaker card that is given the model.
  void warn_of_bad_pair(const PlannedGpu& data, const PlannedGpu& model,
                        std::vector<std::string>& warnings) const;

  // Numbers in CUDA_VISIBLE_DEVICES may mean other cards to other programs.
  void warn_of_order(std::vector<std::string>& warnings) const;

 private:
  PlannedGpu usable(std::size_t number) const;
  GpuLink link_between(const PlannedGpu& one, const PlannedGpu& other) const;

  const GpuInventory& inventory_;
  std::vector<GpuInfo> gpus_;
};

}  // namespace myxtts
