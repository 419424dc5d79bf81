// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/model.h"
#include "data/device_batch.h"
#include "device/role_device.h"
#include "model/named_tensors.h"
#include "train/gpt_training_settings.h"
#include "train/stage_training.h"

namespace myxtts {

// The GPT while it is trained: cross entropy of texts and codes on packed rows. What is drawn at
// random is dropout.
class GptTraining final : public StageTraining {
 public:
  // `weights` has the names of gpt_specs() behind kGptPrefix, fp32, on the CPU; they are copied.
  // Where graphs are asked for, they are recorded here, with progress. Throws ConfigError when a
  // pattern to freeze fits no parameter, DeviceError when memory does not suffice.
  GptTraining(const GptConfig& config, const NamedTensors& weights, RoleDevice& device,
              const GptTrainingSettings& settings);
  ~GptTraining() override;

  // "text_loss" and "audio_loss": means over the targets of the whole step.
  const std::vector<std::string>& loss_names() const override;
  double total(std::span<const double> losses) const override;

  void accumulate(DeviceBatch& batch) override;
  void update(double learning_rate) override;

  std::int64_t step() const override;
  RoleDevice& device() const override;

  std::vector<StepNumbers> take_numbers() override;
  std::vector<StepNumbers> finish_numbers() override;

  double take_waited() override;
  bool settle() override;

  std::vector<std::string> overflowed() const override;

  // Token losses without dropout, in the step's arithmetic.
  at::Tensor evaluate(DeviceBatch& batch) override;

  NamedTensors weights() const override;
  NamedTensors optimiser() const override;
  NamedTensors kept() const override;

  // Moments that were kept in another precision are converted.
  void restore(std::int64_t step, const NamedTensors& weights,
               const NamedTensors& optimiser) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myxtts
