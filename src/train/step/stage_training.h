// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/run_config.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "model/named_tensors.h"
#include "train/observer.h"

namespace myxtts {

// A part of the model while it is trained: its weights, their gradients, AdamW's state, and the
// step that changes them, all on the model device.
//
//   for each batch of a step: accumulate(batch)        forward, backward, gradients added up
//   update(learning_rate)                              clip, AdamW, weights in the step's precision
//
// Neither waits for the device or reads from it; what they computed comes out of take_numbers() a
// few steps later. A step whose loss or gradients are not finite changes nothing. Whatever is drawn
// at random follows from (seed, step, batch within the step) alone, so a resumed run draws the
// same.
//
// The trainer's thread only. The device outlives it.
class StageTraining {
 public:
  virtual ~StageTraining() = default;

  // What the losses of a step are called, in the order of StepNumbers::losses.
  virtual const std::vector<std::string>& loss_names() const = 0;
  // What training weighs such losses to.
  virtual double total(std::span<const double> losses) const = 0;

  // The slot may go back afterwards: its `consumed` is recorded behind the last read.
  virtual void accumulate(DeviceBatch& batch) = 0;
  virtual void update(double learning_rate) = 0;

  virtual std::int64_t step() const = 0;  // updates so far, skipped ones too
  virtual RoleDevice& device() const = 0;

  // Of the steps that the device has finished since the last call, oldest first. Never waits.
  virtual std::vector<StepNumbers> take_numbers() = 0;
  // The same, for all steps that were queued. Waits for the device.
  virtual std::vector<StepNumbers> finish_numbers() = 0;

  // Seconds that updates waited for other ranks, since the last call.
  virtual double take_waited() { return 0; }

  // Where another rank is lost: whether everything that was queued came to its end all the same, so
  // that weights() are those of step(). Waits a few seconds for it.
  virtual bool settle() { return true; }

  // The parameters whose gradients at the last update were not finite. Waits for the device.
  virtual std::vector<std::string> overflowed() const = 0;

  // One batch as evaluation measures it, without changing anything: for each loss its sum and what
  // it is summed over, fp32 [2, losses] on the device.
  virtual at::Tensor evaluate(DeviceBatch& batch) = 0;

  // Everything that a checkpoint keeps, as it is on the device now: valid until the next update().
  // The model's own tensors in fp32 by their names in the public checkpoint; and what else a
  // resumed run needs, by names of its own (docs/reference/checkpoint-format.md).
  virtual NamedTensors weights() const = 0;
  virtual NamedTensors optimiser() const = 0;

  // Every parameter, gradient and average that stays on the device between steps, sharing memory,
  // for whoever checks where they are: "weight." and a parameter's name for fp32, "copy." for the
  // step's arithmetic where that is another, "gradient.", and the optimiser's by their own names.
  virtual NamedTensors kept() const = 0;

  // Continues from a checkpoint. Throws DataError when a tensor is missing or has another shape.
  virtual void restore(std::int64_t step, const NamedTensors& weights,
                       const NamedTensors& optimiser) = 0;
};

// Sets how LibTorch multiplies fp32 matrices (tf32 or not) and whether it may use operations whose
// results differ from run to run. For the whole process.
void set_arithmetic(Precision precision, bool deterministic);

// What a network computes in.
at::ScalarType type_of(Precision precision);

}  // namespace myxtts
