// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "config/model.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "model/gpt_rows.h"
#include "model/named_tensors.h"

namespace myxtts::test {

// Sizes of which a step takes milliseconds on one core.
GptConfig small_gpt();

// Random weights of a GPT as they come from a file: fp32, on the CPU, "gpt." before each name. No
// projection passes nothing on, so every parameter has a gradient.
NamedTensors random_gpt_weights(const GptConfig& config, std::uint64_t seed = 1);

// What random clips are like.
struct RandomClips {
  std::int64_t clips = 2;
  std::int64_t shortest_text = 3;
  std::int64_t longest_text = 9;
  std::int64_t fewest_codes = 8;
  std::int64_t most_codes = 20;
  std::int64_t prompt_frames = 24;
  RowSizes sizes = {};
  std::int64_t slots = 0;  // 0: as many as clips
};

// A batch as the pipeline would hand it over, of random ids and sound, on the device.
DeviceBatch random_batch(const GptConfig& config, const RoleDevice& device,
                         const RandomClips& clips, std::uint64_t seed);

// The same clips as two batches of one step, their counts those of both together, and as one.
struct SplitBatch {
  DeviceBatch whole;
  std::vector<DeviceBatch> parts;
};
SplitBatch split_batch(const GptConfig& config, const RoleDevice& device, std::uint64_t seed);

}  // namespace myxtts::test
