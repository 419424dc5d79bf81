// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "data/device_batch.h"
#include "model/gpt_batch.h"

namespace myxtts {

// What a step of the GPT reads.
struct StepInputs {
  GptBatch rows;
  at::Tensor prompt_mel;  // [slots, bands, frames]
};

// A copy of a batch that stays when its slot goes back.
StepInputs copy_of(const DeviceBatch& batch);

// One short clip: enough for LibTorch to load its kernels and to make its work spaces.
StepInputs smallest_inputs(const GptConfig& config, std::int64_t prompt_frames, c10::Device device);

}  // namespace myxtts
