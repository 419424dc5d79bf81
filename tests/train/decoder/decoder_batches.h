// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "config/model.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "model/named_tensors.h"

namespace myxtts::test {

inline constexpr std::int64_t kTestWindows = 4;
inline constexpr std::int64_t kTestFrames = 8;  // of a window: 2048 samples

// Sizes of which a step takes milliseconds on one core.
ModelConfig small_speaking_model();

// Random weights of its GPT and decoder as they come from a file.
NamedTensors random_speaking_weights(const ModelConfig& config, std::uint64_t seed = 1);

// What makes a batch differ from another one.
struct BatchSeeds {
  std::uint64_t codes = 1;  // texts, codes and prompts
  std::uint64_t sound = 1;
};

// Two clips as the pipeline would hand them over, in one voice, with two windows of each. Their
// sound is a tone that changes from code to code.
DeviceBatch decoder_batch(const ModelConfig& config, const RoleDevice& device,
                          const BatchSeeds& seeds = {});

}  // namespace myxtts::test
