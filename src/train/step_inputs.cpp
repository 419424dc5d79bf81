// SPDX-License-Identifier: Apache-2.0
#include "train/step_inputs.h"

#include <vector>

#include <ATen/ATen.h>

namespace myxtts {

StepInputs copy_of(const DeviceBatch& batch) {
  StepInputs copy = {.rows = batch.rows, .prompt_mel = batch.prompt_mel.clone()};
  GptBatch& rows = copy.rows;
  for (auto* tensor :
       {&rows.segment_ends, &rows.tokens, &rows.positions, &rows.target_rows, &rows.text_targets,
        &rows.audio_targets, &rows.text_count, &rows.audio_count}) {
    *tensor = tensor->clone();
  }
  return copy;
}

StepInputs smallest_inputs(const GptConfig& config, std::int64_t prompt_frames,
                           c10::Device device) {
  const std::vector<std::int64_t> text(4, 0);
  const std::vector<std::int64_t> codes(8, 0);
  const GptClip clip = {.text = text, .codes = codes};
  return {.rows = to_batch(pack_rows(config, {&clip, 1}), device),
          .prompt_mel = at::zeros({1, config.mel_bands, prompt_frames}, at::TensorOptions(device))};
}

}  // namespace myxtts
