// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_batch.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace myxtts {
namespace {

template <typename Integer>
at::Tensor upload(const std::vector<Integer>& values, c10::Device device) {
  return at::tensor(at::ArrayRef<Integer>(values)).to(device);
}

// A batch without targets has loss 0, not 0 / 0.
at::Tensor divisor(std::int64_t count, c10::Device device) {
  return at::full({}, static_cast<double>(std::max<std::int64_t>(count, 1)),
                  at::TensorOptions(at::kFloat).device(device));
}

}  // namespace

GptBatch to_batch(const GptRows& rows, c10::Device device) {
  return {.clips = rows.clips,
          .lengths = rows.lengths,
          .longest = rows.longest,
          .segment_ends = upload(rows.segment_ends, device),
          .tokens = upload(rows.tokens, device),
          .positions = upload(rows.positions, device),
          .target_rows = upload(rows.target_rows, device),
          .text_targets = upload(rows.text_targets, device),
          .text_clips = upload(rows.text_clips, device),
          .audio_targets = upload(rows.audio_targets, device),
          .audio_clips = upload(rows.audio_clips, device),
          .text_count = divisor(rows.text_count, device),
          .audio_count = divisor(rows.audio_count, device)};
}

}  // namespace myxtts
