// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <ATen/core/Generator.h>

#include "config/model.h"
#include "data/device_batch.h"
#include "device/role_device.h"
#include "model/gpt.h"
#include "model/losses.h"
#include "train/gpt_training_settings.h"
#include "train/gradient_exchange.h"
#include "train/optimiser.h"
#include "train/parameters.h"
#include "train/step_graphs.h"
#include "train/step_inputs.h"

namespace myxtts {

// What a pass works on. All of it outlives the pass.
struct GptPassParts {
  RoleDevice& device;
  Gpt& gpt;
  Parameters& parameters;
  Optimiser& optimiser;
  GradientExchange* exchange = nullptr;  // with other ranks, where there are some
};

// Forward and backward of the GPT, batch after batch: computed as they come, or recorded once for
// each size as a CUDA graph and replayed. Gradients stay in the parameters and losses in the
// optimiser; with the last batch of a step they are summed over the ranks, on the way where the
// pass computes or a graph holds the sums.
//
// The trainer's thread only, with work of the role.
class GptPass {
 public:
  // Records where graphs are asked for, with progress.
  GptPass(const GptConfig& config, const GptTrainingSettings& settings, const GptPassParts& parts);

  // Takes what the pass needs of a batch.
  void load(const DeviceBatch& batch);

  // The pass of the batch that was loaded, as batch `batch` of the step after `step`.
  void run(std::int64_t step, std::uint64_t batch);

  struct Found {
    GptLosses losses;
    GuideSums guide;  // where there is a guide
  };
  Found forward(const StepInputs& inputs, double dropout) const;

 private:
  RememberRandom remember_random();
  void record_graphs(const GptConfig& config);
  bool asks_on_the_way() const;
  void on_the_way() const;
  void ask_on_the_way_back() const;
  bool gradients_are_zero() const;
  at::Tensor add_losses(const Found& found, const StepInputs& inputs) const;
  void compute(const StepInputs& inputs, bool sums) const;
  void backward(const StepInputs& inputs) const;
  void sum_over_ranks() const;
  void seed_dropout(std::int64_t step, std::uint64_t batch);

  const GptTrainingSettings& settings_;
  const GptPassParts parts_;
  at::Generator random_;  // of dropout
  std::unique_ptr<GraphRecorder> recorder_;
  std::optional<StepGraphs> graphs_;
  bool recording_ = false;

  // Of the batch that was loaded.
  bool has_clips_ = false;
  bool ends_step_ = true;
  StepInputs inputs_;  // without graphs
};

}  // namespace myxtts
