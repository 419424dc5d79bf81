// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/model.h"
#include "data/device_batch.h"
#include "device/role_device.h"
#include "model/named_tensors.h"
#include "train/gpt_training_settings.h"
#include "train/step_numbers.h"

namespace myxtts {

// The GPT while it is trained: its weights, their gradients, AdamW's state, and the step that
// changes them, all on the model device.
//
//   for each batch of a step: accumulate(batch)        forward, backward, gradients added up
//   update(learning_rate)                              clip, AdamW, weights in the step's
//   arithmetic
//
// Neither waits for the device or reads from it; what they computed comes out of take_numbers() a
// few steps later. A step whose loss or gradients are not finite changes nothing. Dropout follows
// from (seed, step, batch within the step) alone, so a resumed run draws the same.
//
// The trainer's thread only. The device outlives it.
class GptTraining {
 public:
  // `weights` has the names of gpt_specs() behind kGptPrefix, fp32, on the CPU; they are copied.
  // Where graphs are asked for, they are recorded here, with progress. Throws ConfigError when a
  // pattern to freeze fits no parameter, DeviceError when memory does not suffice.
  GptTraining(const GptConfig& config, const NamedTensors& weights, RoleDevice& device,
              const GptTrainingSettings& settings);
  ~GptTraining();

  // The slot may go back afterwards: its `consumed` is recorded behind the last read.
  void accumulate(DeviceBatch& batch);
  void update(double learning_rate);

  std::int64_t step() const;  // updates so far, skipped ones too
  RoleDevice& device() const;

  // Of the steps that the device has finished since the last call, oldest first. Never waits.
  std::vector<StepNumbers> take_numbers();
  // The same, for all steps that were queued. Waits for the device.
  std::vector<StepNumbers> finish_numbers();

  // Sums of the token losses and counts of one batch without dropout or gradient, in the step's
  // arithmetic: [text sum, audio sum, text targets, audio targets] fp32 on the device.
  at::Tensor evaluate(DeviceBatch& batch);

  // Everything that a checkpoint keeps, as it is on the device now: valid until the next update().
  // The weights in fp32 by their names in the public checkpoint; the optimiser's by names of its
  // own (docs/checkpoint-format.md).
  NamedTensors weights() const;
  NamedTensors optimiser() const;

  // Every parameter, gradient and average that stays on the device between steps, sharing memory,
  // for whoever checks where they are: "weight." and a parameter's name for fp32, "copy." for the
  // step's arithmetic where that is another, "gradient.", and the optimiser's by their own names.
  NamedTensors kept() const;

  // Continues from a checkpoint. Throws DataError when a tensor is missing or has another shape;
  // moments kept in another precision are converted.
  void restore(std::int64_t step, const NamedTensors& weights, const NamedTensors& optimiser);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myxtts
