// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/model.h"
#include "device/role_device.h"
#include "model/named_tensors.h"
#include "train/decoder/decoder_training_settings.h"
#include "train/stage_training.h"

namespace myxtts {

// The decoder while it is trained: from the latents of the frozen GPT and a speaker vector to sound
// whose mel spectra are those of the recording, and which the discriminators take for one. See
// docs/internals/parts.md.
//
// A batch has rows with codes, prompts, and sound windows with their voices. Nothing is random but
// the discriminators' first weights.
class DecoderTraining final : public StageTraining {
 public:
  // `weights` has the names of gpt_specs() behind kGptPrefix and of decoder_specs() behind
  // kDecoderPrefix, fp32, on the CPU; they are copied. Where graphs are asked for, the step is
  // recorded here, with progress. Throws ConfigError for a setting that cannot be, DeviceError when
  // memory does not suffice.
  DecoderTraining(const ModelConfig& config, const NamedTensors& weights, RoleDevice& device,
                  const DecoderTrainingSettings& settings);
  ~DecoderTraining() override;

  // "mel_loss", "feature_loss", "adversarial_loss" and "discriminator_loss"; StepNumbers::loss is
  // what the decoder is trained for, the weighted sum of the first three.
  const std::vector<std::string>& loss_names() const override;
  // The mel error's part alone: the others are measured against discriminators that change, so they
  // cannot tell which of two checkpoints is the better one.
  double total(std::span<const double> losses) const override;

  void accumulate(DeviceBatch& batch) override;
  void update(double learning_rate) override;  // of both sides

  std::int64_t step() const override;
  RoleDevice& device() const override;

  std::vector<StepNumbers> take_numbers() override;
  std::vector<StepNumbers> finish_numbers() override;

  std::vector<std::string> overflowed() const override;

  at::Tensor evaluate(DeviceBatch& batch) override;

  // weights(): the decoder's. optimiser(): both sides' moments, and the discriminators' weights.
  NamedTensors weights() const override;
  NamedTensors optimiser() const override;
  NamedTensors kept() const override;
  void restore(std::int64_t step, const NamedTensors& weights,
               const NamedTensors& optimiser) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myxtts
