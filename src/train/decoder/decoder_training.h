// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/model.h"
#include "config/run_config.h"
#include "device/role_device.h"
#include "model/named_tensors.h"
#include "train/step/optimiser.h"
#include "train/step/stage_training.h"

namespace myxtts {

// How the decoder is trained. The defaults are made for a voice from nothing within minutes.
struct DecoderTrainingSettings {
  // Of the decoder's and the discriminators' layers: decided, not Auto, and not fp16. Weights, the
  // waveform and the losses are fp32 with each of them.
  Precision precision = Precision::Fp32;
  UpdateSettings update = {.beta1 = 0.8, .beta2 = 0.99, .weight_decay = 0.0};  // of both sides
  Moments moments = Moments::Fp32;

  std::int64_t windows = 32;        // of a batch
  std::int64_t window_frames = 32;  // of output_hop samples each

  // The discriminators take part behind this step. Until then the mel error alone is trained, which
  // is several times as fast and brings the first words.
  std::int64_t mel_only_steps = 2000;
  double mel_weight = 45;
  double feature_weight = 2;

  std::uint64_t seed = 0;           // of the discriminators
  std::int64_t batches_a_step = 1;  // --grad-accum
  bool graphs = false;              // record the step as a CUDA graph
  bool deterministic = false;       // only operations that give equal results each time

  // Called again and again in each pass, where graphs are not asked for. What it throws ends the
  // step, whose batch then counts as never seen; afterwards only weights(), optimiser() and
  // restore() may be called.
  std::function<void()> on_the_way = {};
};

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
