// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/networks.h"
#include "config/train.h"
#include "train/dvae/learned_codebook.h"
#include "train/optimiser_settings.h"
#include "train/stage_training.h"

namespace myxtts {

struct DvaeTrainingSettings {
  Precision precision = Precision::Fp32;  // decided; fp32 or tf32
  UpdateSettings update = {.beta2 = 0.99};
  double commitment = 0.25;  // weight of the commitment loss
  CodebookRule codebook = {};
  std::uint64_t seed = 0;           // of what codes begin with
  std::int64_t batches_a_step = 1;  // --grad-accum
  std::vector<std::string> freeze = {};
  bool graphs = false;                    // record the step as CUDA graphs, with progress
  bool deterministic = false;             // only operations that give equal results each time
  std::int64_t windows = 0;               // of each batch; graphs need to know
  std::int64_t frames = 0;                // of each window, a multiple of four
  std::function<void()> on_the_way = {};  // called in each pass; what it throws ends the step
};

// The DVAE while it is trained: encoder and decoder by gradient, the codebook by averages.
//
//   mel ─encode─▶ z ─nearest entries─▶ q ─decode─▶ mel'      loss = |mel - mel'|² + 0.25 |q - z|²
//                 ◀──── gradient ──────┘                     q counts as constant in the second
//
// The gradient of the rounding to codes is passed through as if there were none. Losses, each a
// mean over the windows of a step:
//   reconstruction  squared error of the mel, divided by mel_stats as the network sees it
//   commitment      squared distance of z from its entry
//   perplexity      of the codes' use over the last hundred steps, 1 to the number of codes; of the
//                   batch alone where it is evaluated
//   codes_used      the share of codes that these steps used at all; likewise
//   mel_error       mean |mel - mel'| of the log mel in its own units (nats)
// In fp32, or tf32 for convolutions; the nearest code is always found in fp32.
class DvaeTraining final : public StageTraining {
 public:
  // `weights` has the names of dvae_specs(), fp32, on the CPU; they are copied. A codebook whose
  // cluster sizes are all 0 is new: it begins with the first batch. `mel_stats` [bands].
  DvaeTraining(const DvaeConfig& config, const NamedTensors& weights, const at::Tensor& mel_stats,
               RoleDevice& device, const DvaeTrainingSettings& settings);
  ~DvaeTraining() override;

  const std::vector<std::string>& loss_names() const override;
  double total(std::span<const double> losses) const override;

  void accumulate(DeviceBatch& batch) override;
  void update(double learning_rate) override;
  std::int64_t step() const override;
  RoleDevice& device() const override;
  std::vector<StepNumbers> take_numbers() override;
  std::vector<StepNumbers> finish_numbers() override;

  std::vector<std::string> overflowed() const override;

  // With the codebook as it is, in fp32.
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
