// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include "config/run_config.h"
#include "data/batches/device_batch.h"
#include "device/role_device.h"
#include "device/stream.h"
#include "kernels/adamw/adamw.h"
#include "model/named_tensors.h"
#include "train/observer.h"
#include "train/step/optimiser.h"
#include "train/step/parameters.h"

namespace myxtts {

// Brings the reports of steps from the device to the host without anybody waiting: each is copied
// into host memory of its own behind the step, and read once its event has completed. The trainer's
// thread only; the device outlives it.
class NumberReader {
 public:
  // `losses`: how many a report has beside the one that was trained.
  NumberReader(RoleDevice& device, std::int64_t losses) : device_(device), losses_(losses) {}
  ~NumberReader();

  // Queues the copy of the report that the stream's work so far leaves there.
  void read(const Stream& stream, const UpdateReport* report);

  // Of the steps that are finished, oldest first. Never waits.
  std::vector<StepNumbers> take();
  // Of all steps. Waits for the device.
  std::vector<StepNumbers> finish();

 private:
  struct Copy {
    HostMemory memory;
    Event arrived;
  };

  Copy make_copy() const;
  StepNumbers use(Copy copy);

  RoleDevice& device_;
  const std::int64_t losses_;
  std::deque<Copy> under_way_;
  std::vector<Copy> unused_;
};

// How a step is computed and applied, whatever is trained.
struct StepSettings {
  Precision precision = Precision::Fp32;  // decided, not Auto
  double weight_decay = 0.01;
  std::optional<double> grad_clip = {};  // --grad-clip: of the norm of all gradients together
  std::uint64_t seed = 0;                // of everything that is drawn at random
  std::int64_t batches_a_step = 1;       // --grad-accum
  std::vector<std::string> freeze = {};  // patterns of parameters' names: train/frozen.h
  bool graphs = false;                   // record the step as CUDA graphs, with progress
  bool deterministic = false;            // only operations that give equal results each time

  // Called many times in each pass, except where graphs are recorded. What it throws ends the step,
  // whose batch then counts as never seen; afterwards only weights(), optimiser() and restore() may
  // be called.
  std::function<void()> poll = {};
};

// Of AdamW with these betas, for a step that reports so many losses.
OptimiserSettings optimiser_settings(const StepSettings& settings, double beta1, double beta2,
                                     std::size_t losses);

// Sets how LibTorch multiplies fp32 matrices (tf32 or not) and whether it may use operations whose
// results differ from run to run. For the whole process.
void set_arithmetic(Precision precision, bool deterministic);

// What a network computes in.
at::ScalarType type_of(Precision precision);

// Calls `work` as work of the device; LibTorch's errors become ours.
template <typename Work>
void run_on(RoleDevice& device, const Work& work) {
  const auto scope = device.enter(device.stream());
  try {
    work();
  } catch (const c10::Error&) {
    device.rethrow();
  }
}

// A part of the model while it is trained: its weights, their gradients, AdamW's state, and the
// step that changes them, all on the model device.
//
//   for each batch of a step: accumulate(batch)        forward, backward, gradients added up
//   update(learning_rate)                              clip, AdamW, weights in the step's precision
//
// Neither waits for the device or reads from it; what they computed comes out of take_numbers() a
// few steps later. A step whose loss or gradients are not finite changes nothing. Whatever is drawn
// at random follows from (seed, step, batch within the step) alone, so a resumed run draws the
// same.
//
// A part adds its networks and its losses: see the protected methods, all of which are called as
// work of the device. The trainer's thread only. The device outlives it.
class PartTraining {
 public:
  PartTraining(const PartTraining&) = delete;
  PartTraining& operator=(const PartTraining&) = delete;
  virtual ~PartTraining() = default;

  // What the losses of a step are called, in the order of StepNumbers::losses.
  const std::vector<std::string>& loss_names() const { return loss_names_; }
  // The weighted sum of such losses that validation compares checkpoints by.
  virtual double total(std::span<const double> losses) const = 0;

  // The slot may go back afterwards: its `consumed` is recorded behind the last read.
  void accumulate(DeviceBatch& batch);
  void update(double learning_rate);

  std::int64_t step() const { return step_; }  // updates so far, skipped ones too
  RoleDevice& device() const { return device_; }

  // Of the steps that the device has finished since the last call, oldest first. Never waits.
  std::vector<StepNumbers> take_numbers() { return numbers_.take(); }
  // The same, for all steps that were queued. Waits for the device.
  virtual std::vector<StepNumbers> finish_numbers() { return numbers_.finish(); }

  // Seconds that updates waited for other ranks, since the last call.
  virtual double take_waited() { return 0; }

  // Where another rank is lost: whether everything that was queued was computed all the same, so
  // that weights() are those of step(). Waits a few seconds for it.
  virtual bool finish_queued() { return true; }

  // The parameters whose gradients at the last update were not finite. Waits for the device.
  std::vector<std::string> overflowed() const;

  // One batch as evaluation measures it, without changing anything: for each loss its sum and what
  // it is summed over, fp32 [2, losses] on the device.
  at::Tensor evaluate(DeviceBatch& batch);

  // Everything that a checkpoint keeps, as it is on the device now: valid until the next update().
  // The model's own tensors in fp32 by their names in the public checkpoint; and what else a
  // resumed run needs, by names of its own (docs/reference/checkpoint-format.md).
  virtual NamedTensors weights() const = 0;
  virtual NamedTensors optimiser() const = 0;

  // Every parameter, gradient and average that stays on the device between steps, sharing memory,
  // for whoever checks where they are: "weight." and a parameter's name for fp32, "copy." for the
  // step's arithmetic where that is another, "gradient.", and the optimiser's by their own names.
  NamedTensors kept() const;

  // Continues from a checkpoint. Throws DataError when a tensor is missing or has another shape.
  void restore(std::int64_t step, const NamedTensors& weights, const NamedTensors& optimiser);

 protected:
  // Sets the arithmetic of the process.
  PartTraining(RoleDevice& device, const StepSettings& settings,
               std::vector<std::string> loss_names);

  // Those of all networks that are trained. The first reports the losses.
  virtual std::vector<const Optimiser*> optimisers() const = 0;

  // Forward and backward pass of batch batches() of the step.
  virtual void pass(const DeviceBatch& batch) = 0;
  virtual void apply(double learning_rate) = 0;
  // After a step and the copy of its report were queued.
  virtual void step_queued() {}
  // As evaluate() says; no gradients are recorded.
  virtual at::Tensor measure(const DeviceBatch& batch) const = 0;
  virtual void load(const NamedTensors& weights, const NamedTensors& optimiser) = 0;

  const StepSettings& step_settings() const { return settings_; }
  std::uint64_t batches() const { return batches_; }  // of the step that were accumulated

  void poll() const;
  // Lets each backward pass poll with each gradient that it has found.
  void poll_in_backward(const Parameters& parameters) const;

 private:
  RoleDevice& device_;
  const StepSettings settings_;
  const std::vector<std::string> loss_names_;
  NumberReader numbers_;
  std::int64_t step_ = 0;
  std::uint64_t batches_ = 0;
};

// Makes a training as work of its device.
template <typename Training, typename... Arguments>
std::unique_ptr<PartTraining> make_on(RoleDevice& device, const Arguments&... arguments) {
  std::unique_ptr<PartTraining> training;
  run_on(device, [&] { training = std::make_unique<Training>(device, arguments...); });
  return training;
}

}  // namespace myxtts
