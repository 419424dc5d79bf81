// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/residual_norm.h"

#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/cuda_kernels.h"
#include "kernels/ops/dropout.h"
#include "kernels/ops/op_tensors.h"

namespace myxtts::plain {

NormedSum residual_norm(const at::Tensor& x, const at::Tensor& branch, const NormWeights& norm,
                        double dropout) {
  const auto sum = x + (dropout > 0.0 ? plain::dropout(branch, dropout) : branch);
  return {.sum = sum, .normed = plain::layer_norm(sum, norm)};
}

at::Tensor layer_norm(const at::Tensor& x, const NormWeights& norm) {
  return at::layer_norm(x, norm.weight.sizes(), norm.weight, norm.bias, kLayerNormEpsilon);
}

at::Tensor selected_norm(const at::Tensor& x, const at::Tensor& rows, const NormWeights& norm) {
  return plain::layer_norm(x.index_select(0, rows), norm);
}

}  // namespace myxtts::plain

namespace myxtts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// mean and inverse are [rows] fp32.
NormForward describe(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                     const at::Tensor& mean, const at::Tensor& inverse) {
  return {.number = *common_number({x}),
          .rows = mean.size(0),
          .width = x.size(-1),
          .x = pointer(x),
          .weight = pointer(weight),
          .bias = pointer(bias),
          .epsilon = kLayerNormEpsilon,
          .mean = mean.data_ptr<float>(),
          .inverse = inverse.data_ptr<float>()};
}

struct Incoming {
  at::Tensor d_normed;
  at::Tensor d_sum;     // undefined: 0
  at::Tensor kept;      // undefined: no dropout
  at::Tensor selected;  // undefined: all rows
  at::Tensor deferred;  // undefined: no bias is
  double dropout = 0;
  bool promised = false;
};

// The backward pass that the three operations share. `saved` is sum, weight, bias, mean, inverse.
// Gives the gradients of x, branch, deferred bias, weight and bias.
variable_list differentiate(const variable_list& saved, const Incoming& incoming) {
  const at::Tensor& sum = saved[0];
  const GradientTarget d_weight(saved[1], incoming.promised);
  const GradientTarget d_bias(saved[2], incoming.promised);
  const GradientTarget d_deferred(incoming.deferred, incoming.promised);
  const auto dx = incoming.selected.defined() ? at::zeros_like(sum) : at::empty_like(sum);
  const auto d_branch = incoming.kept.defined() ? at::empty_like(sum) : at::Tensor();
  const auto d_normed = incoming.d_normed.contiguous();
  const auto d_sum = incoming.d_sum.defined() ? incoming.d_sum.contiguous() : at::Tensor();
  cuda_kernels(Operation::Norm)
      ->norm_backward({.number = *common_number({sum}),
                       .rows = d_normed.numel() / sum.size(-1),
                       .width = sum.size(-1),
                       .d_normed = pointer(d_normed),
                       .d_sum = pointer(d_sum),
                       .sum = pointer(sum),
                       .selected = static_cast<const std::int64_t*>(pointer(incoming.selected)),
                       .weight = pointer(saved[1]),
                       .mean = saved[3].data_ptr<float>(),
                       .inverse = saved[4].data_ptr<float>(),
                       .kept = static_cast<const std::uint8_t*>(pointer(incoming.kept)),
                       .dropout = incoming.dropout,
                       .dx = pointer(dx),
                       .d_branch = pointer(d_branch),
                       .d_weight = d_weight.data(),
                       .d_bias = d_bias.data(),
                       .d_branch_sums = d_deferred.data()});
  return {dx, d_branch.defined() ? d_branch : dx, d_deferred.for_autograd(),
          d_weight.for_autograd(), d_bias.for_autograd()};
}

class ResidualNorm : public torch::autograd::Function<ResidualNorm> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const at::Tensor& branch, const std::optional<at::Tensor>& deferred,
                               const at::Tensor& weight, const at::Tensor& bias, double dropout) {
    const auto mean = at::empty({x.size(0)}, x.options().dtype(at::kFloat));
    const auto inverse = at::empty_like(mean);
    const auto sum = at::empty_like(x);
    const auto normed = at::empty_like(x);
    at::Tensor kept;  // [rows, D / 8] bytes
    if (dropout > 0.0) {
      kept = at::empty({x.size(0), x.size(1) / 8}, x.options().dtype(at::kByte));
    }
    NormForward call = describe(x, weight, bias, mean, inverse);
    call.branch = pointer(branch);
    call.dropout = dropout;
    call.sum = pointer(sum);
    call.normed = pointer(normed);
    call.kept = static_cast<std::uint8_t*>(pointer(kept));
    cuda_kernels(Operation::Norm)->norm_forward(call);
    context->save_for_backward(
        {sum, weight, bias, mean, inverse, kept, deferred.value_or(at::Tensor())});
    context->saved_data["dropout"] = dropout;
    context->saved_data["promised"] = ZeroGradientPromise::given();
    context->set_materialize_grads(false);
    return {sum, normed};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    auto found = differentiate(
        saved, {.d_normed = gradients[1].defined() ? gradients[1] : at::zeros_like(saved[0]),
                .d_sum = gradients[0],
                .kept = saved[5],
                .selected = {},
                .deferred = saved[6],
                .dropout = context->saved_data["dropout"].toDouble(),
                .promised = context->saved_data["promised"].toBool()});
    found.emplace_back();  // of dropout
    return found;
  }
};

// Layer norm of all rows of x, or of those in `selected`.
class Norm : public torch::autograd::Function<Norm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const std::optional<at::Tensor>& selected) {
    const std::int64_t rows = selected ? selected->size(0) : x.numel() / x.size(-1);
    const auto mean = at::empty({rows}, x.options().dtype(at::kFloat));
    const auto inverse = at::empty_like(mean);
    NormForward call = describe(x, weight, bias, mean, inverse);
    const auto normed = selected ? at::empty({rows, x.size(1)}, x.options()) : at::empty_like(x);
    call.selected = selected ? static_cast<const std::int64_t*>(pointer(*selected)) : nullptr;
    call.normed = pointer(normed);
    cuda_kernels(Operation::Norm)->norm_forward(call);
    context->save_for_backward(
        {x, weight, bias, mean, inverse, selected ? *selected : at::Tensor()});
    context->saved_data["promised"] = ZeroGradientPromise::given();
    return normed;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    auto found = differentiate(saved, {.d_normed = gradients[0],
                                       .d_sum = {},
                                       .kept = {},
                                       .selected = saved[5],
                                       .deferred = {},
                                       .dropout = 0,
                                       .promised = context->saved_data["promised"].toBool()});
    return {found[0], found[3], found[4], {}};
  }
};

bool fits(const at::Tensor& x, const at::Tensor& branch, const NormWeights& norm) {
  return cuda_kernels(Operation::Norm) != nullptr &&
         common_number({x, branch, norm.weight, norm.bias}).has_value() && x.numel() > 0 &&
         x.size(-1) % kNormWidthMultiple == 0 && x.size(-1) <= kNormWidest;
}

}  // namespace

NormedSum residual_norm(const at::Tensor& x, const Projection& branch, const NormWeights& norm,
                        double dropout) {
  if (!fits(x, branch.rows, norm)) {
    return plain::residual_norm(x, branch.with_bias_gradient(), norm, dropout);
  }
  const auto both =
      ResidualNorm::apply(x.contiguous(), branch.rows.contiguous(),
                          if_defined(branch.deferred_bias), norm.weight, norm.bias, dropout);
  return {.sum = both[0], .normed = both[1]};
}

at::Tensor layer_norm(const at::Tensor& x, const NormWeights& norm) {
  if (!fits(x, {}, norm)) return plain::layer_norm(x, norm);
  return Norm::apply(x.contiguous(), norm.weight, norm.bias, std::optional<at::Tensor>());
}

at::Tensor selected_norm(const at::Tensor& x, const at::Tensor& rows, const NormWeights& norm) {
  if (!fits(x, {}, norm)) return plain::selected_norm(x, rows, norm);
  return Norm::apply(x.contiguous(), norm.weight, norm.bias, std::optional(rows.contiguous()));
}

}  // namespace myxtts
