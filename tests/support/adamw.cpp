// SPDX-License-Identifier: Apache-2.0
#include "support/adamw.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "model/tensor_spec.h"
#include "support/parameter_groups.h"

namespace myxtts::test {

AdamW::AdamW(const TensorSpecs& specs, const NamedTensors& weights, const std::string& prefix,
             const AdamWOptions& options)
    : options_(options) {
  const auto names = parameter_groups(specs);
  groups_.push_back(make_group(names.decayed, weights, prefix, options.weight_decay));
  groups_.push_back(make_group(names.kept, weights, prefix, 0.0));
}

AdamW::Group AdamW::make_group(const std::vector<std::string>& names, const NamedTensors& weights,
                               const std::string& prefix, double weight_decay) {
  Group group;
  group.weight_decay = weight_decay;
  for (const auto& name : names) {
    const at::Tensor& parameter = weights.at(prefix + name);
    group.parameters.push_back(parameter);
    group.means.push_back(at::zeros_like(parameter));
    group.squares.push_back(at::zeros_like(parameter));
    group.steps.push_back(at::zeros({}, parameter.options().dtype(at::kFloat)));
  }
  return group;
}

void AdamW::clear_gradients() {
  for (auto& group : groups_) {
    for (auto& parameter : group.parameters) parameter.mutable_grad().reset();
  }
}

std::vector<at::Tensor> AdamW::gradients(const Group& group) {
  std::vector<at::Tensor> result;
  for (const auto& parameter : group.parameters) {
    MYXTTS_CHECK(parameter.grad().defined(), "a parameter has no gradient; was backward called?");
    result.push_back(parameter.grad());
  }
  return result;
}

at::Tensor AdamW::clip_gradients(double limit) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> all;
  for (const auto& group : groups_) {
    const auto some = gradients(group);
    all.insert(all.end(), some.begin(), some.end());
  }
  const auto norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(all)));
  // A scale of at most 1, computed on the device: no branch that would have to wait for it.
  const auto scale = (limit / (norm + 1e-6)).clamp_max(1.0);
  for (auto& gradient : all) gradient.mul_(scale);
  return norm;
}

void AdamW::step() {
  const at::NoGradGuard no_grad;
  for (auto& group : groups_) step(group);
}

void AdamW::step(Group& group) {
  if (group.parameters.empty()) return;
  at::_foreach_add_(group.steps, 1);
  at::_fused_adamw_(group.parameters, gradients(group), group.means, group.squares,
                    /*max_exp_avg_sqs=*/{}, group.steps, options_.learning_rate, options_.beta1,
                    options_.beta2, group.weight_decay, options_.epsilon, /*amsgrad=*/false,
                    /*maximize=*/false);
}

}  // namespace myxtts::test
