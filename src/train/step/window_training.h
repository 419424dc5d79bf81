// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "train/step/part_training.h"

namespace myxtts {

// The training of a network on windows of sound in fp32 or tf32: forward, backward, AdamW, and both
// halves as CUDA graphs where they are asked for. What is reported of a step is the mean over its
// batches.
class WindowTraining : public PartTraining {
 public:
  ~WindowTraining() override;

 protected:
  struct Losses {
    at::Tensor trained;   // scalar, with its gradient
    at::Tensor reported;  // [losses], without
  };

  // Throws ConfigError for another precision.
  WindowTraining(RoleDevice& device, const StepSettings& settings,
                 std::vector<std::string> loss_names, ParameterLayout layout,
                 const NamedTensors& weights);

  // Records the step on windows of such shapes, where graphs are asked for: to be called at the end
  // of a constructor. Throws DeviceError where that cannot be done.
  void record_graphs(const SoundWindows& windows);

  // Forward pass of a batch; LibTorch's generator was seeded for it.
  virtual Losses losses(const SoundWindows& windows) = 0;
  // Sums and counts [2, losses] of a batch.
  virtual at::Tensor measure_windows(const SoundWindows& windows) const = 0;

  // Behind AdamW: what the network keeps besides parameters. Changes nothing where `skipped`, int32
  // [1], is not 0.
  virtual void update_buffers(const at::Tensor& skipped) = 0;
  // Forgets passes that no update follows.
  virtual void clear_buffers() = 0;

  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  // The optimiser's own tensors, and back, with the parameters.
  NamedTensors optimiser() const override { return optimiser_.tensors(); }
  void load(const NamedTensors& weights, const NamedTensors& optimiser) override;

 private:
  std::vector<const Optimiser*> optimisers() const final { return {&optimiser_}; }
  void pass(const DeviceBatch& batch) final;
  void apply(double learning_rate) final;
  at::Tensor measure(const DeviceBatch& batch) const final;
  void backward(const SoundWindows& windows);
  void seed_draws() const;

  Parameters parameters_;
  Optimiser optimiser_;
  std::unique_ptr<GraphRecorder> recorder_;
  SoundWindows inputs_;  // of the graph
  std::unique_ptr<RecordedGraph> pass_graph_;
  std::unique_ptr<RecordedGraph> update_graph_;
};

}  // namespace myxtts
