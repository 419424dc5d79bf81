// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/run_config.h"
#include "device/role_device.h"
#include "kernels/adamw/adamw.h"
#include "model/named_tensors.h"
#include "parallel/world.h"
#include "train/step/parameters.h"

namespace myxtts {

struct OptimiserSettings {
  AdamWRule rule = {};  // its defaults are those of coqui-tts for the GPT
  Moments moments = Moments::Fp32;
  std::int64_t batches_a_step = 1;  // --grad-accum
  // Of the trained numbers, those that this rank updates; nothing: all.
  std::optional<ArrayPart> part = {};
  std::int64_t losses = 0;  // reported beside the one that is trained; kMostLosses at most
};

// AdamW over the parameters of a network: its moments, and what it decides on the device.
// Parameters and device outlive it. The trainer's thread only.
class Optimiser {
 public:
  Optimiser(Parameters& parameters, const OptimiserSettings& settings, RoleDevice& device);
  ~Optimiser();

  const Parameters& parameters() const { return parameters_; }

  // Sums over the batches of a step, fp32 [1 + losses] on the device: what is trained, then what is
  // reported beside it.
  const at::Tensor& losses() const { return losses_; }
  // What the loss is multiplied by before the backward pass: fp32 scalar on the device, undefined
  // where it is always 1.
  const at::Tensor& loss_scale() const { return loss_scale_; }

  // After each backward pass, where a step has several.
  void add_up();

  // What add_up() sums into: fp32 [trained]; undefined where gradients sum up themselves.
  const at::Tensor& sums() const { return sums_; }

  // Forgets the losses and gradients of batches that no update follows.
  void clear();

  void update(std::int64_t step, double learning_rate);

  // In place of add_up() and update(), where gradients are let go of as they come. What follows
  // prepare() may stand in a graph.
  void prepare(std::int64_t step, double learning_rate);
  void begin();
  void apply(const ParameterPlace& place, const at::Tensor& gradient);
  void finish();

  // Of the last update; on the device.
  const UpdateReport* report() const;

  // Whether it changed nothing, as its loss or gradients were not finite: int32 [1] on the device,
  // sharing memory.
  at::Tensor skipped() const;

  // The parameters whose gradients at the last update were not finite, or so large that their
  // squares are not. Waits for the device.
  std::vector<std::string> overflowed() const;

  // What a checkpoint keeps, sharing memory; and back.
  NamedTensors tensors() const;
  // The same where this rank has averages of its part alone: copies, each flat array of which
  // `fill_in` completes with the parts of the other ranks; its numbers are one for each `unit`
  // trained ones.
  using FillIn = std::function<void(const at::Tensor& flat, std::int64_t unit)>;
  NamedTensors tensors(const FillIn& fill_in) const;
  void load(const NamedTensors& tensors);

 private:
  UpdateState* state() const;
  AdamWArrays arrays() const;
  struct MomentTensors;
  NamedTensors named(const MomentTensors& moments) const;
  at::Tensor field(std::size_t offset, std::int64_t count, at::ScalarType type) const;
  void load_loss_scale(const at::Tensor& saved);
  void load_moments(const NamedTensors& tensors);
  void load_part(const NamedTensors& tensors, Moments from);

  Parameters& parameters_;
  RoleDevice& device_;
  const Moments moments_;
  const std::optional<ArrayPart> part_;
  std::unique_ptr<AdamW> adamw_;
  at::Tensor state_;  // an UpdateState, as bytes
  at::Tensor losses_;
  at::Tensor loss_scale_;
  at::Tensor sums_;          // fp32 gradients of several batches [trained]; or undefined
  at::Tensor partial_sums_;  // fp32 [trained / kAdamWAlignment]
  std::unique_ptr<MomentTensors> averages_;  // of all that is trained, or of the part
};

// Makes every backward pass update each parameter as soon as its gradient is there, and let go of
// the gradient. The optimiser outlives the parameters' next backward pass.
void release_gradients(Parameters& parameters, Optimiser& optimiser);

}  // namespace myxtts
