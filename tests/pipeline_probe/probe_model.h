// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "model/dvae.h"
#include "train/gpt/gpt_training.h"

namespace myxtts::test {

// Networks with random weights, each on the device of its role: the frozen one, and the GPT as the
// trainer trains it.
class ProbeModel {
 public:
  // Batches have `sizes` and at most `clips` rows. On a GPU the step is recorded as a graph.
  ProbeModel(const ModelConfig& config, RoleDevice& data, RoleDevice& model, const RowSizes& sizes,
             std::int64_t clips);

  const Dvae& dvae() const { return *dvae_; }
  const at::Tensor& mel_stats() const { return mel_stats_; }

  // A training step as users run it, queued on the model's stream.
  void step(DeviceBatch& batch);

 private:
  std::unique_ptr<Dvae> dvae_;
  at::Tensor mel_stats_;
  std::unique_ptr<PartTraining> training_;
};

// On the device that a role has.
c10::Device device_of(const RoleDevice& role);

}  // namespace myxtts::test
