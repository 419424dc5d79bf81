// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/batch_plan.h"
#include "device/event.h"
#include "model/gpt_batch.h"

namespace myxtts {

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

  Event filled;    // recorded by the pipeline: the tensors above may be read after it
  Event consumed;  // recorded by the trainer: the tensors above may be written after it
};

}  // namespace myxtts
