// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/run_config.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "train/observer.h"
#include "train/step/number_reader.h"
#include "train/step/optimiser.h"
#include "train/step/parameters.h"

namespace myxtts {

struct WindowStepSettings {
  Precision precision = Precision::Fp32;  // fp32 or tf32
  OptimiserSettings optimiser = {};
  bool graphs = false;         // record the step as CUDA graphs; needs `windows`
  bool deterministic = false;  // only operations that give equal results each time
  SoundWindows windows = {};   // of the shapes that each batch has, on any device

  // Called in each pass where graphs are not asked for; what it throws ends the step.
  std::function<void()> on_the_way = {};
};

// What a network adds to the step. Nothing here waits for the device.
struct WindowWork {
  struct Losses {
    at::Tensor trained;  // scalar, with its gradient
    at::Tensor told;     // [losses], without
  };

  // Forward pass of a batch; LibTorch's generator was seeded for it.
  std::function<Losses(const SoundWindows&)> losses;
  // Behind AdamW: what the network keeps besides parameters. Changes nothing where `skipped`, int32
  // scalar, is not 0.
  std::function<void(const at::Tensor& skipped)> update;
  // Forgets passes that no update follows.
  std::function<void()> forget;
};

// The step of a network that is trained on windows of sound in fp32 or tf32: forward, backward,
// AdamW, and both halves as CUDA graphs where they are asked for. What is told of a step is the
// mean over its batches. Parameters and device outlive it. The trainer's thread only.
class WindowStep {
 public:
  // Throws ConfigError for another precision, DeviceError where graphs cannot be recorded.
  WindowStep(RoleDevice& device, Parameters& parameters, const WindowStepSettings& settings,
             WindowWork work);
  ~WindowStep();

  void accumulate(DeviceBatch& batch);
  void update(double learning_rate);

  // `measure` of a batch's windows, without gradient.
  at::Tensor evaluate(DeviceBatch& batch,
                      const std::function<at::Tensor(const SoundWindows&)>& measure);

  std::int64_t step() const { return step_; }
  RoleDevice& device() const { return device_; }
  Optimiser& optimiser() { return optimiser_; }
  const Optimiser& optimiser() const { return optimiser_; }
  NumberReader& numbers() { return numbers_; }

  std::vector<std::string> overflowed();  // as Optimiser says

  // `load` as work of the device; then the step goes on behind `step`.
  void restore(std::int64_t step, const std::function<void()>& load);

 private:
  void record();
  void pass(const SoundWindows& windows);
  void seed_draws() const;
  void queue(const std::function<void()>& work);

  RoleDevice& device_;
  Parameters& parameters_;
  const WindowStepSettings settings_;
  const WindowWork work_;
  Optimiser optimiser_;
  NumberReader numbers_;
  std::unique_ptr<GraphRecorder> recorder_;
  SoundWindows inputs_;  // of the graph
  std::unique_ptr<RecordedGraph> pass_graph_;
  std::unique_ptr<RecordedGraph> update_graph_;
  std::int64_t step_ = 0;
  std::uint64_t batches_ = 0;  // of the step at work
};

}  // namespace myxtts
