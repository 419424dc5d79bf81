// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/batches/batch_plan.h"
#include "device/stream.h"
#include "model/gpt_batch.h"

namespace myxtts {

// Pieces of the clips' sound, for the stages that train on sound; several may come from one clip.
// Where a stage does not use a tensor, it is undefined. W is the same for every batch.
struct SoundWindows {
  at::Tensor weights;       // [W] fp32: 1, and 0 for those behind the last, which are silence
  at::Tensor clips;         // [W] int64: the row of the batch that it was cut from
  at::Tensor mel;           // dvae: [W, bands, frames] as the DVAE takes it
  at::Tensor sound;         // decoder, speaker: [W, samples] fp32 within ±1 at the stage's rate
  at::Tensor first_frames;  // decoder: [W] int64, which of its clip's frames a window begins with
  at::Tensor voices;        // decoder: [slots, speaker_dim], the speaker vectors of whole clips
  at::Tensor speakers;      // speaker: [W] int64, from 0
};

// One batch on the model device, where the pipeline and the trainer meet. Its tensors are made once
// for the largest batch and copied into; those of `rows` are views of the batch's own sizes, at the
// same addresses for every batch of a slot.
//
// The trainer makes its stream follow `filled`, queues its work, records `consumed` behind the last
// read and gives the slot back: none of that waits.
struct DeviceBatch {
  std::int64_t number = -1;       // counts from 0 in the order the trainer sees them
  DataPosition position;          // of this batch
  std::vector<ClipNumber> clips;  // of the rows, in order; for messages
  bool ends_step = true;          // the last of the batches whose gradients are added up
  double audio_seconds = 0;       // of its clips
  GptBatch rows;                  // packed, codes included; counts are those of the whole step
  at::Tensor prompt_mel;          // [slots, bands, frames] as the conditioning encoder takes it
  SoundWindows windows;           // of stages that train on sound

  Event filled;    // recorded by the pipeline: the tensors above may be read after it
  Event consumed;  // recorded by the trainer: the tensors above may be written after it
};

}  // namespace myxtts
