// SPDX-License-Identifier: Apache-2.0
#include "kernels/training/group_norm.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/training/gradient_target.h"
#include "kernels/training/group_norm_kernels.h"
#include "kernels/training/tensor_checks.h"

namespace myxtts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

GroupNormShape shape_of(const at::Tensor& x, std::int64_t groups) {
  return {.number = *common_number({x}),
          .clips = x.size(0),
          .frames = x.size(1),
          .width = x.size(2),
          .groups = groups};
}

class FusedGroupNorm : public torch::autograd::Function<FusedGroupNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, std::int64_t groups) {
    const auto y = at::empty_like(x);
    const auto mean = at::empty({x.size(0), groups}, x.options().dtype(at::kFloat));
    const auto inverse = at::empty_like(mean);
    cuda_kernels<GroupNormKernels>()->forward({.shape = shape_of(x, groups),
                                               .x = pointer(x),
                                               .weight = pointer(weight),
                                               .bias = pointer(bias),
                                               .epsilon = kGroupNormEpsilon,
                                               .y = pointer(y),
                                               .mean = mean.data_ptr<float>(),
                                               .inverse = inverse.data_ptr<float>()});
    context->save_for_backward({x, weight, bias, mean, inverse});
    context->saved_data["promised"] = ZeroGradientPromise::given();
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const bool promised = context->saved_data["promised"].toBool();
    const GradientTarget d_weight(saved[1], promised);
    const GradientTarget d_bias(saved[2], promised);
    const auto dy = gradients[0].contiguous();
    const auto dx = at::empty_like(saved[0]);
    cuda_kernels<GroupNormKernels>()->backward({.shape = shape_of(saved[0], saved[3].size(1)),
                                                .dy = pointer(dy),
                                                .x = pointer(saved[0]),
                                                .weight = pointer(saved[1]),
                                                .mean = saved[3].data_ptr<float>(),
                                                .inverse = saved[4].data_ptr<float>(),
                                                .dx = pointer(dx),
                                                .d_weight = d_weight.data(),
                                                .d_bias = d_bias.data()});
    return {dx, d_weight.for_autograd(), d_bias.for_autograd(), {}};
  }
};

bool fits(const at::Tensor& x, const GroupNormWeights& norm) {
  return cuda_kernels<GroupNormKernels>() != nullptr &&
         common_number({x, norm.weight, norm.bias}).has_value() && x.numel() > 0 &&
         x.size(2) % (norm.groups * kGroupWidthMultiple) == 0 && norm.groups <= kMostGroups &&
         x.size(2) <= kGroupNormWidest;
}

}  // namespace

at::Tensor group_norm(const at::Tensor& x, const GroupNormWeights& norm) {
  if (!fits(x, norm)) return plain::group_norm(x, norm);
  return FusedGroupNorm::apply(x.contiguous(), norm.weight, norm.bias, norm.groups);
}

}  // namespace myxtts
