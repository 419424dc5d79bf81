// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/batches/device_batch.h"
#include "device/role_device.h"

namespace myxtts {

// Copies of batches that stay on the model device, so that steps can be run without a pipeline.
// One thread, the trainer's; the device outlives it.
class ResidentBatches {
 public:
  ResidentBatches(RoleDevice& device, std::int64_t batches_a_step)
      : device_(device), batches_a_step_(batches_a_step) {}

  // Queued on the device, behind whatever filled the batch.
  void keep(const DeviceBatch& batch);

  bool empty() const { return batches_.empty(); }

  // The next one, round and round; every `batches_a_step` of them end a step.
  DeviceBatch& next();

 private:
  RoleDevice& device_;
  const std::int64_t batches_a_step_;
  std::vector<DeviceBatch> batches_;
  std::size_t taken_ = 0;
};

// Tokens that the model computes for a batch, and those of clips among them.
std::int64_t all_tokens(const DeviceBatch& batch);
std::int64_t useful_tokens(const DeviceBatch& batch);

}  // namespace myxtts
