// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/named_tensors.h"
#include "model/tensor_spec.h"

namespace myxtts::test {

// coqui-tts' values, but for the learning rate, which its recipe sets to 5e-6.
struct AdamWOptions {
  double learning_rate = 5e-6;
  double beta1 = 0.9;
  double beta2 = 0.96;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // of the group that decays; see parameter_groups.h
};

// AdamW over the parameters of a network, in the peer's two groups. Writes into the tensors of the
// map it was made for, and so trains the network that shares them.
class AdamW {
 public:
  // `specs` are the network's; `prefix` goes before their names in `weights`.
  AdamW(const TensorSpecs& specs, const NamedTensors& weights, const std::string& prefix,
        const AdamWOptions& options);

  void clear_gradients();

  // Scales all gradients so that their common norm is at most `limit`; gives the norm before.
  at::Tensor clip_gradients(double limit);

  // Every parameter must have a gradient.
  void step();

 private:
  struct Group {
    std::vector<at::Tensor> parameters;
    std::vector<at::Tensor> means;
    std::vector<at::Tensor> squares;
    std::vector<at::Tensor> steps;  // fp32 scalars, on the parameters' device
    double weight_decay = 0.0;
  };

  static Group make_group(const std::vector<std::string>& names, const NamedTensors& weights,
                          const std::string& prefix, double weight_decay);
  static std::vector<at::Tensor> gradients(const Group& group);
  void step(Group& group);

  AdamWOptions options_;
  std::vector<Group> groups_;
};

}  // namespace myxtts::test
