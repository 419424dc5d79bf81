// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include "device/role_device.h"
#include "kernels/adamw.h"
#include "model/named_tensors.h"
#include "train/optimiser_settings.h"
#include "train/parameters.h"

namespace myxtts {

// AdamW over the parameters of a network: its moments, and what it decides on the device.
// Parameters and device outlive it. The trainer's thread only.
class Optimiser {
 public:
  Optimiser(Parameters& parameters, const OptimiserSettings& settings, RoleDevice& device);

  // Sums over the batches of a step, fp32 [1 + losses] on the device: what is trained, then what is
  // told beside it.
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

  // What a checkpoint keeps, sharing memory; and back.
  NamedTensors tensors() const;
  void load(const NamedTensors& tensors);

 private:
  UpdateState* state() const;
  AdamWArrays arrays() const;
  at::Tensor field(std::size_t offset, std::int64_t count, at::ScalarType type) const;
  void load_moments(const NamedTensors& tensors);
  void convert_moments(const NamedTensors& tensors, Moments from);

  Parameters& parameters_;
  RoleDevice& device_;
  const Moments moments_;
  std::unique_ptr<AdamW> adamw_;
  at::Tensor state_;  // an UpdateState, as bytes
  at::Tensor losses_;
  at::Tensor loss_scale_;
  at::Tensor sums_;          // fp32 gradients of several batches [trained]; or undefined
  at::Tensor partial_sums_;  // fp32 [trained / kAdamWAlignment]
  at::Tensor means_;         // [trained]
  at::Tensor squares_;       // [trained]
  at::Tensor mean_scales_;   // of eight bits: fp32 [trained / kAdamWBlock]; else undefined
  at::Tensor square_scales_;
};

}  // namespace myxtts
