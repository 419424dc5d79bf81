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
#include "model/named_tensors.h"
#include "train/step/optimiser.h"
#include "train/step/stage_training.h"

namespace myxtts {

// How a codebook follows what is looked up in it.
struct CodebookRule {
  double decay = 0.99;             // of the averages, each step
  double least_use = 0.05;         // of the mean use; a code used less begins anew. 0: none does
  std::int64_t begin_steps = 200;  // of a new codebook, before it has averages
  double use_decay = 0.99;         // of the counts that perplexity is told of
};

// The DVAE's codebook while it is trained. It has no gradient: each entry is the average of the
// encoder's outputs that were nearest to it, over the last hundred steps or so.
//
//   for each batch:  meet(z, weights)    what its z are rounded to, and what they add to averages
//   once a step:     update(skipped)
//
// Note [A codebook stays alive]
// A code that nothing is nearest to never moves, so most of a codebook that begins at random
// numbers is dead from the first step on. One that begins at outputs of the encoder is dead soon,
// too, as a new encoder's outputs move faster than averages over a hundred steps. So while a
// codebook is new (its cluster sizes are all 0), each batch is rounded to outputs of its own that
// are drawn at random; only behind begin_steps do those of the last step become its entries, each
// as if used once. And a code whose average use has fallen below least_use of the mean begins anew
// at such an output of the step: from the mean use that takes three hundred steps of no use.
//
// Everything stays on the device, and no shape depends on data, so both may stand in a graph. Draws
// come from LibTorch's generator of the device: seed it before each batch.
class LearnedCodebook {
 public:
  // Shares the tensors of the public layout: codebook.embed, .embed_avg, .cluster_size.
  LearnedCodebook(const NamedTensors& tensors, const CodebookRule& rule);

  // The entries [W, dim, n] nearest to z [W, dim, n]. Windows of weight 0 count for nothing; they
  // stand behind the others. Without gradient.
  at::Tensor meet(const at::Tensor& z, const at::Tensor& weights);

  // exp of the entropy of the codes' use, and the share of codes in use at all: fp32 scalars, over
  // the last hundred steps and the batches of this one.
  at::Tensor perplexity() const;
  at::Tensor share_in_use() const;

  // Averages and entries after the batches of a step; nothing where `skipped`, int32 scalar, is not
  // 0.
  void update(const at::Tensor& skipped);

  // Forgets batches that no update follows.
  void clear();

  // What a checkpoint keeps besides the public layout, sharing memory.
  NamedTensors tensors() const;

 private:
  at::Tensor is_new() const;
  void draw(const at::Tensor& rows, const at::Tensor& weights);
  at::Tensor window() const;

  const CodebookRule rule_;
  at::Tensor embed_;         // [dim, codes]
  at::Tensor embed_avg_;     // [dim, codes]
  at::Tensor cluster_size_;  // [codes]
  at::Tensor use_;           // [codes] counts, older ones for less
  at::Tensor new_steps_;     // [1] int64: steps that the codebook was new in
  at::Tensor numbers_;       // [codes] int64: 0, 1, 2 ...

  // Of the step at work.
  at::Tensor counts_;  // [codes]
  at::Tensor sums_;    // [dim, codes]
  at::Tensor drawn_;   // [dim, codes] outputs of the encoder that codes may begin with
};

// Of counts [codes]: 1 to the number of codes.
at::Tensor perplexity_of(const at::Tensor& counts);

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
