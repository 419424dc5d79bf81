// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/model.h"
#include "config/run_config.h"
#include "train/step/optimiser.h"
#include "train/step/stage_training.h"

namespace myxtts {

// How vectors are told apart while the encoder is trained.
struct SpeakerHeadRule {
  double margin = 0.2;  // in radians, by which the right speaker must be nearer than it is
  double scale = 30.0;  // of cosines, before the softmax
};

// Cosines of vectors [W, dim] with the directions [speakers, dim] of the speakers: [W, speakers].
at::Tensor speaker_cosines(const at::Tensor& vectors, const at::Tensor& directions);

// What the softmax takes: the cosines, scaled, with the angle to the right one of `speakers` [W]
// widened by the margin. Beyond half a turn, where a wider angle would count as a smaller one, the
// cosine itself is lowered.
at::Tensor speaker_logits(const at::Tensor& cosines, const at::Tensor& speakers,
                          const SpeakerHeadRule& rule);

// The mean cosine of two different windows of one speaker, less that of windows of two speakers:
// fp32 scalar; windows of weight 0 do not count. 0 where there are no two such windows.
at::Tensor cosine_gap(const at::Tensor& vectors, const at::Tensor& speakers,
                      const at::Tensor& weights);

struct SpeakerTrainingSettings {
  Precision precision = Precision::Fp32;  // decided; fp32 or tf32
  UpdateSettings update = {.beta2 = 0.99};
  SpeakerHeadRule head = {};
  std::int64_t speakers = 0;        // of the corpus
  std::uint64_t seed = 0;           // of the head
  std::int64_t batches_a_step = 1;  // --grad-accum
  std::vector<std::string> freeze = {};
  bool graphs = false;                    // record the step as CUDA graphs
  bool deterministic = false;             // only operations that give equal results each time
  std::int64_t windows = 0;               // of each batch; graphs need to know
  std::int64_t samples = 0;               // of each window at 16,000 Hz
  std::function<void()> on_the_way = {};  // called in each pass; what it throws ends the step
};

// The speaker encoder while it is trained to tell the speakers of a corpus apart: each has a
// direction, and a window's vector is to point there by a margin nearer than anywhere else. The
// directions are the optimiser's, not the model's: afterwards only the encoder is used.
//
// Losses, each a mean over the windows of a step:
//   speaker_loss  cross entropy over the speakers; with the margin in training, without it where it
//                 is evaluated
//   accuracy      the share of windows whose nearest direction is their speaker's
//   cosine_gap    how much nearer windows of one speaker are to each other than to others'
class SpeakerTraining final : public StageTraining {
 public:
  // `weights` has the names of speaker_encoder_specs() behind kSpeakerEncoderPrefix, on the CPU;
  // they are copied. Throws ConfigError when there are fewer than two speakers.
  SpeakerTraining(const SpeakerEncoderConfig& config, const NamedTensors& weights,
                  RoleDevice& device, const SpeakerTrainingSettings& settings);
  ~SpeakerTraining() override;

  const std::vector<std::string>& loss_names() const override;
  double total(std::span<const double> losses) const override;

  void accumulate(DeviceBatch& batch) override;
  void update(double learning_rate) override;
  std::int64_t step() const override;
  RoleDevice& device() const override;
  std::vector<StepNumbers> take_numbers() override;
  std::vector<StepNumbers> finish_numbers() override;

  std::vector<std::string> overflowed() const override;

  // With stored statistics, as the encoder is used.
  at::Tensor evaluate(DeviceBatch& batch) override;

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
