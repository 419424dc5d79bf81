// SPDX-License-Identifier: Apache-2.0
#include <tuple>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/training/group_norm.h"

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

at::Tensor group_norm(const at::Tensor& x, const GroupNormWeights& norm) {
  return PlainGroupNorm::apply(x.contiguous(), norm.weight, norm.bias, norm.groups);
}

}  // namespace myxtts::plain
