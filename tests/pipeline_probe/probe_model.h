// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "data/device_batch.h"
#include "device/role_device.h"
#include "model/dvae.h"
#include "model/gpt.h"

namespace myxtts::test {

// Networks with random weights, each on the device of its role.
class ProbeModel {
 public:
  ProbeModel(const ModelConfig& config, RoleDevice& data, RoleDevice& model);

  const Dvae& dvae() const { return *dvae_; }
  const at::Tensor& mel_stats() const { return mel_stats_; }

  // Forward, backward and clearing of the gradients, queued on the model's stream: what a trainer
  // does without its optimiser.
  void step(const DeviceBatch& batch);

 private:
  std::unique_ptr<Dvae> dvae_;
  at::Tensor mel_stats_;
  std::vector<at::Tensor> weights_;
  std::unique_ptr<Gpt> gpt_;
  at::ScalarType dtype_;
};

// On the device that a role has.
c10::Device device_of(const RoleDevice& role);

}  // namespace myxtts::test
