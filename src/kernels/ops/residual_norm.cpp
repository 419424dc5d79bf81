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

// What is saved besides sum, weight and bias, in this order.
struct Statistics {
  at::Tensor mean;     // [rows] fp32
  at::Tensor inverse;  // [rows] fp32
  at::Tensor kept;     // [rows, D / 8] bytes, or nothing
};

NormForward describe(const at::Tensor& x, std::int64_t rows, const at::Tensor& weight,
                     const at::Tensor& bias, Statistics& statistics) {
  statistics.mean = at::empty({rows}, x.options().dtype(at::kFloat));
  statistics.inverse = at::empty_like(statistics.mean);
  return {.number = *common_number({x}),
          .rows = rows,
          .width = x.size(-1),
          .x = pointer(x),
          .weight = pointer(weight),
          .bias = pointer(bias),
          .epsilon = kLayerNormEpsilon,
          .mean = statistics.mean.data_ptr<float>(),
          .inverse = statistics.inverse.data_ptr<float>()};
}

// The backward pass that the three operations share. `saved` is sum, weight, bias, mean, inverse.
struct NormGradients {
  at::Tensor dx;
  at::Tensor d_branch;
  at::Tensor d_weight;
  at::Tensor d_bias;
  at::Tensor d_owed;
};

struct Incoming {
  at::Tensor d_normed;
  at::Tensor d_sum;     // undefined: 0
  at::Tensor kept;      // undefined: no dropout
  at::Tensor selected;  // undefined: all rows
  at::Tensor owed;      // undefined: no bias is
  double dropout = 0;
  bool promised = false;
};

NormGradients differentiate(const variable_list& saved, const Incoming& incoming) {
  const at::Tensor& sum = saved[0];
  const GradientTarget d_weight(saved[1], incoming.promised);
  const GradientTarget d_bias(saved[2], incoming.promised);
  const GradientTarget d_owed(incoming.owed, incoming.promised);
  NormGradients gradients;
  gradients.dx = incoming.selected.defined() ? at::zeros_like(sum) : at::empty_like(sum);
  if (incoming.kept.defined()) gradients.d_branch = at::empty_like(sum);
  const auto d_normed = incoming.d_normed.contiguous();
  const auto d_sum = incoming.d_sum.defined() ? incoming.d_sum.contiguous() : at::Tensor();
  cuda_kernels<NormKernels>()->backward(
      {.number = *common_number({sum}),
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
       .dx = pointer(gradients.dx),
       .d_branch = pointer(gradients.d_branch),
       .d_weight = d_weight.data(),
       .d_bias = d_bias.data(),
       .d_branch_sums = d_owed.data()});
  gradients.d_weight = d_weight.for_autograd();
  gradients.d_bias = d_bias.for_autograd();
  gradients.d_owed = d_owed.for_autograd();
  if (!gradients.d_branch.defined()) gradients.d_branch = gradients.dx;
  return gradients;
}

class ResidualNorm : public torch::autograd::Function<ResidualNorm> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const at::Tensor& branch, const std::optional<at::Tensor>& owed,
                               const at::Tensor& weight, const at::Tensor& bias, double dropout) {
    Statistics statistics;
    NormForward call = describe(x, x.size(0), weight, bias, statistics);
    const auto sum = at::empty_like(x);
    const auto normed = at::empty_like(x);
    if (dropout > 0.0) {
      statistics.kept = at::empty({x.size(0), x.size(1) / 8}, x.options().dtype(at::kByte));
    }
    call.branch = pointer(branch);
    call.dropout = dropout;
    call.sum = pointer(sum);
    call.normed = pointer(normed);
    call.kept = static_cast<std::uint8_t*>(pointer(statistics.kept));
    cuda_kernels<NormKernels>()->forward(call);
    context->save_for_backward({sum, weight, bias, statistics.mean, statistics.inverse,
                                statistics.kept, owed.value_or(at::Tensor())});
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
                .owed = saved[6],
                .dropout = context->saved_data["dropout"].toDouble(),
                .promised = context->saved_data["promised"].toBool()});
    return {found.dx, found.d_branch, found.d_owed, found.d_weight, found.d_bias, {}};
  }
};

// Layer norm of all rows of x, or of those in `selected`.
class Norm : public torch::autograd::Function<Norm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const std::optional<at::Tensor>& selected) {
    const std::int64_t rows = selected ? selected->size(0) : x.numel() / x.size(-1);
    Statistics statistics;
    NormForward call = describe(x, rows, weight, bias, statistics);
    const auto normed = selected ? at::empty({rows, x.size(1)}, x.options()) : at::empty_like(x);
    call.selected = selected ? static_cast<const std::int64_t*>(pointer(*selected)) : nullptr;
    call.normed = pointer(normed);
    cuda_kernels<NormKernels>()->forward(call);
    context->save_for_backward({x, weight, bias, statistics.mean, statistics.inverse,
                                selected ? *selected : at::Tensor()});
    context->saved_data["promised"] = ZeroGradientPromise::given();
    return normed;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    auto found = differentiate(saved, {.d_normed = gradients[0],
                                       .d_sum = {},
                                       .kept = {},
                                       .selected = saved[5],
                                       .owed = {},
                                       .dropout = 0,
                                       .promised = context->saved_data["promised"].toBool()});
    return {found.dx, found.d_weight, found.d_bias, {}};
  }
};

bool fits(const at::Tensor& x, const at::Tensor& branch, const NormWeights& norm) {
  return cuda_kernels<NormKernels>() != nullptr &&
         common_number({x, branch, norm.weight, norm.bias}).has_value() && x.numel() > 0 &&
         x.size(-1) % kNormWidthMultiple == 0 && x.size(-1) <= kNormWidest;
}

}  // namespace

NormedSum residual_norm(const at::Tensor& x, const Projection& branch, const NormWeights& norm,
                        double dropout) {
  if (!fits(x, branch.rows, norm)) {
    return plain::residual_norm(x, branch.settled(), norm, dropout);
  }
  const auto owed = branch.owed_bias.defined() ? std::optional(branch.owed_bias) : std::nullopt;
  const auto both = ResidualNorm::apply(x.contiguous(), branch.rows.contiguous(), owed, norm.weight,
                                        norm.bias, dropout);
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
