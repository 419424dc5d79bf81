// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "model/named_tensors.h"
#include "train/step/part_training.h"

namespace myxtts::test {

// Windows as speech has them, in a rough way: six broad shapes over the bands that swell and fade,
// at about the mean and the deviation of a log mel divided by its mel_stats. fp32 [W, 80, frames].
at::Tensor speechlike_mel(std::int64_t windows, std::int64_t frames, std::uint64_t seed);

// A batch of them, on the device.
DeviceBatch mel_batch(const at::Tensor& mel, const RoleDevice& device);

// Steps over the batches in turn.
std::vector<StepNumbers> train(PartTraining& training, const std::vector<DeviceBatch*>& batches,
                               int steps, double rate);

NamedTensors copies(const NamedTensors& tensors);
void expect_equal(const NamedTensors& found, const NamedTensors& wanted);

}  // namespace myxtts::test
