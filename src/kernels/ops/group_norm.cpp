// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/group_norm.h"

#include <tuple>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/cuda_kernels.h"
#include "kernels/ops/op_tensors.h"

namespace myxtts::plain {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// [D] -> [1, 1, G, D / G] in fp32
at::Tensor by_group(const at::Tensor& channels, std::int64_t groups) {
  return channels.to(at::kFloat).view({1, 1, groups, -1});
}

// Note [Group norm as one multiply and add]
// With mean m and deviation s of a group, y = (x - m) / s · w + b = x · a + c, where a = w / s and
// c = b - m · a are one number for each clip and channel. So the forward pass reads the data once
// after the statistics. The backward pass needs two sums over time for each clip and channel, of
// dy and of dy · x; everything else follows from these small tensors, and dx is again linear in
// dy and x.
class PlainGroupNorm : public torch::autograd::Function<PlainGroupNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, std::int64_t groups) {
    const auto grouped = x.view({x.size(0), x.size(1), groups, -1});  // [B, F, G, D/G]
    const auto [variance, mean] =
        at::var_mean(grouped.to(at::kFloat), at::IntArrayRef{1, 3}, /*correction=*/0,
                     /*keepdim=*/true);                           // [B, 1, G, 1]
    const auto inverse = (variance + kGroupNormEpsilon).rsqrt();  // [B, 1, G, 1]
    const auto scale = inverse * by_group(weight, groups);
    const auto shift = by_group(bias, groups) - mean * scale;  // [B, 1, G, D/G]
    context->save_for_backward({x, weight, mean, inverse});
    return at::addcmul(shift, grouped, scale).to(x.scalar_type()).view_as(x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& weight = saved[1];
    const at::Tensor& mean = saved[2];
    const at::Tensor& inverse = saved[3];
    const std::int64_t groups = mean.size(2);
    const auto x = saved[0].view({saved[0].size(0), saved[0].size(1), groups, -1});
    const auto dy = gradients[0].contiguous().view(x.sizes());  // [B, F, G, D/G]
    const auto w = by_group(weight, groups);
    const double count = static_cast<double>(x.size(1) * x.size(3));

    const auto sum_dy = dy.sum(at::IntArrayRef{1}, /*keepdim=*/true, at::kFloat);
    const auto sum_dy_x = (dy * x).sum(at::IntArrayRef{1}, /*keepdim=*/true, at::kFloat);
    const auto sum_dy_normed = (sum_dy_x - mean * sum_dy) * inverse;  // [B, 1, G, D/G]
    const auto mean_dy = (w * sum_dy).sum(3, true) / count;           // [B, 1, G, 1]
    const auto mean_dy_normed = (w * sum_dy_normed).sum(3, true) / count;

    const auto slope = inverse.square() * mean_dy_normed;
    const auto offset = mean * slope - inverse * mean_dy;
    const auto dx = at::addcmul(offset, dy, inverse * w).sub_(x * slope);
    return {dx.to(saved[0].scalar_type()).view_as(saved[0]),
            sum_dy_normed.sum(at::IntArrayRef{0, 1}).view_as(weight).to(weight.scalar_type()),
            sum_dy.sum(at::IntArrayRef{0, 1}).view_as(weight).to(weight.scalar_type()),
            {}};
  }
};

}  // namespace

at::Tensor group_norm(const at::Tensor& x, const NormWeights& norm, std::int64_t groups) {
  return PlainGroupNorm::apply(x.contiguous(), norm.weight, norm.bias, groups);
}

}  // namespace myxtts::plain

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
    cuda_kernels(Operation::GroupNorm)
        ->group_norm_forward({.shape = shape_of(x, groups),
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
    cuda_kernels(Operation::GroupNorm)
        ->group_norm_backward({.shape = shape_of(saved[0], saved[3].size(1)),
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

bool fits(const at::Tensor& x, const NormWeights& norm, std::int64_t groups) {
  return cuda_kernels(Operation::GroupNorm) != nullptr &&
         common_number({x, norm.weight, norm.bias}).has_value() && x.numel() > 0 &&
         x.size(2) % (groups * kGroupWidthMultiple) == 0 && groups <= kMostGroups &&
         x.size(2) <= kGroupNormWidest;
}

}  // namespace

at::Tensor group_norm(const at::Tensor& x, const NormWeights& norm, std::int64_t groups) {
  if (!fits(x, norm, groups)) return plain::group_norm(x, norm, groups);
  return FusedGroupNorm::apply(x.contiguous(), norm.weight, norm.bias, groups);
}

}  // namespace myxtts
