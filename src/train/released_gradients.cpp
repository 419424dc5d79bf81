// SPDX-License-Identifier: Apache-2.0
#include "train/released_gradients.h"

#include <memory>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace myxtts {
namespace {

class UpdateAndRelease final : public torch::autograd::PostAccumulateGradHook {
 public:
  UpdateAndRelease(const ParameterPlace& place, Optimiser& optimiser)
      : place_(place), optimiser_(optimiser) {}

  void operator()(const at::Tensor& parameter) override {
    optimiser_.apply(place_, parameter.grad());
    parameter.mutable_grad().reset();
  }

 private:
  const ParameterPlace place_;
  Optimiser& optimiser_;
};

}  // namespace

void release_gradients(Parameters& parameters, Optimiser& optimiser) {
  for (const auto& place : parameters.layout().places) {
    if (!place.trained) continue;
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters.tensors().find(place.name)->second,
        std::make_unique<UpdateAndRelease>(place, optimiser));
  }
}

}  // namespace myxtts
