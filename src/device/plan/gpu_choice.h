// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "device/device_plan.h"
#include "device/machine.h"

namespace myxtts {

// The flags that cannot be meant without a GPU, as typed ("--data-gpu 0 --model-gpu 1"); empty when
// there are none.
std::string gpu_wish(const RunConfig& config);

// The GPUs that a plan may take, by the numbers a person types.
class GpuChoice {
 public:
  // Throws DeviceError when there is a wish and nothing to fulfil it with, when there are GPUs and
  // CUDA cannot use them (`cuda_fault`), or when CUDA_VISIBLE_DEVICES cannot be followed.
  GpuChoice(const GpuInventory& inventory, const std::string& wish, const std::string& cuda_fault);

  std::size_t size() const { return gpus_.size(); }

  // Why there is nothing to choose from, as a sentence.
  std::string why_none() const;

  // Throws DeviceError unless there are two.
  void require_two() const;

  // The GPU a flag names. Throws DeviceError when it cannot be used, or is not there: then with
  // `remedy`, flags that would work.
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
