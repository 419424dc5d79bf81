// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/model.h"
#include "data/device_batch.h"
#include "device/role_device.h"
#include "model/named_tensors.h"
#include "train/gpt_training.h"

namespace myxtts::test {

// A GPT so small that a step of it takes milliseconds on one core.
GptConfig smallest_gpt();

// Its weights by the names of the checkpoint.
NamedTensors made_weights(const GptConfig& config, std::uint64_t seed = 1);

struct MadeBatchOptions {
  std::int64_t clips = 4;
  std::uint64_t seed = 1;  // of texts, codes and prompts
  DataPosition position = {};
  bool ends_step = true;
};

// Clips that the seed decides, their numbers from `position.step * clips` on.
DeviceBatch made_batch(const GptConfig& config, const MadeBatchOptions& options);

// One device with one thread, as training in tests wants it.
std::unique_ptr<RoleDevice> one_cpu();

// fp32 without dropout.
GptTrainingSettings plain_settings();

// Every tensor equal to the last bit.
bool same_tensors(const NamedTensors& a, const NamedTensors& b);

NamedTensors cloned(const NamedTensors& tensors);

}  // namespace myxtts::test
