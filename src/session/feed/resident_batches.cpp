// SPDX-License-Identifier: Apache-2.0
#include "session/feed/resident_batches.h"

#include <utility>

#include <ATen/ATen.h>

#include "base/error.h"

namespace myxtts {

void ResidentBatches::keep(const DeviceBatch& batch) {
  const auto scope = device_.enter(device_.stream());
  DeviceBatch copy{.number = batch.number,
                   .position = batch.position,
                   .clips = batch.clips,
                   .audio_seconds = batch.audio_seconds,
                   .rows = batch.rows,
                   .prompt_mel = batch.prompt_mel.clone(),
                   .windows = {},  // a trial is of the GPT alone
                   .filled = device_.make_event(),
                   .consumed = device_.make_event()};
  GptBatch& rows = copy.rows;
  for (at::Tensor* tensor : {&rows.segment_ends, &rows.tokens, &rows.positions, &rows.target_rows,
                             &rows.text_targets, &rows.text_clips, &rows.audio_targets,
                             &rows.audio_clips, &rows.text_count, &rows.audio_count}) {
    *tensor = tensor->clone();
  }
  copy.filled.record(device_.stream());
  batches_.push_back(std::move(copy));
}

DeviceBatch& ResidentBatches::next() {
  MYXTTS_CHECK(!batches_.empty(), "no batch was kept");
  DeviceBatch& batch = batches_[taken_ % batches_.size()];
  ++taken_;
  batch.ends_step = static_cast<std::int64_t>(taken_) % batches_a_step_ == 0;
  return batch;
}

BatchTokens tokens_of(const DeviceBatch& batch) {
  BatchTokens tokens;
  const GptBatch& rows = batch.rows;
  for (std::size_t segment = 0; segment < rows.lengths.size(); ++segment) {
    tokens.all += rows.lengths[segment];
    if (static_cast<std::int64_t>(segment) < rows.clips) tokens.useful += rows.lengths[segment];
  }
  return tokens;
}

}  // namespace myxtts
