// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/batches/batch.h"
#include "device/stream.h"
#include "model/gpt_batch.h"

namespace myxtts {

using SoundWindows = WindowArrays<TensorOf>;

// One batch on the model device, where the pipeline and the trainer meet. Its tensors are made once
// for the largest batch and copied into; those of `rows` are views of the batch's own sizes, at the
// same addresses for every batch of a slot. The counts of `rows` are those of the whole step.
//
// The trainer makes its stream follow `filled`, queues its work, records `consumed` behind the last
// read and gives the slot back: none of that waits.
struct DeviceBatch : Batch<TensorOf> {
  Event filled;    // recorded by the pipeline: the tensors may be read after it
  Event consumed;  // recorded by the trainer: the tensors may be written after it
};

}  // namespace myxtts
