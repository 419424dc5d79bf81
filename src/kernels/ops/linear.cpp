// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/linear.h"

#include <optional>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/cuda_kernels.h"
#include "kernels/ops/op_tensors.h"

namespace myxtts::plain {

at::Tensor linear(const at::Tensor& x, const LinearWeights& weights) {
  if (weights.layout == WeightLayout::InOut) return at::addmm(weights.bias, x, weights.weight);
  return at::linear(x, weights.weight.flatten(1), weights.bias);
}

at::Tensor gelu_mlp(const at::Tensor& x, const LinearWeights& in, const LinearWeights& out) {
  return plain::linear(at::gelu(plain::linear(x, in), "tanh"), out);
}

}  // namespace myxtts::plain

namespace myxtts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kStrideMultiple = 8;  // 16 bytes: what the fast kernels ask of a row

void multiply(const Product& product) {
  cuda_kernels(Operation::Matmul)
      ->multiply(product, !at::globalContext().deterministicAlgorithms());
}

Matrix matrix(const at::Tensor& tensor, bool transposed = false) {
  return {.data = tensor.data_ptr(),
          .rows = tensor.size(0),
          .columns = tensor.size(1),
          .stride = tensor.stride(0),
          .transposed = transposed};
}

// [out, in] or [in, out], whatever ones stand behind.
at::Tensor two_dimensional(const at::Tensor& weight) {
  return weight.detach().view({weight.size(0), -1});
}

bool is_in_out(std::int64_t layout) {
  return layout == static_cast<std::int64_t>(WeightLayout::InOut);
}

std::int64_t rounded_up(std::int64_t columns) {
  return (columns + kStrideMultiple - 1) / kStrideMultiple * kStrideMultiple;
}

// Note [Odd widths]
// The fast kernels want rows that begin at multiples of 16 bytes and as many columns: with 6,681
// ids the product of a head took eight times as long as with 6,688 on an H200. So where a layer's
// outputs are not such a number, a product sees some rows of zeros behind its weight and bias, and
// some columns more of what it writes and reads, which nobody else sees.
at::Tensor padded_rows(const at::Tensor& tensor) {
  const std::int64_t missing = rounded_up(tensor.size(0)) - tensor.size(0);
  if (missing == 0) return tensor;
  std::vector<std::int64_t> pad(static_cast<std::size_t>(2 * tensor.dim()), 0);
  pad.back() = missing;
  return at::constant_pad_nd(tensor, pad);
}

at::Tensor padded_columns(const at::Tensor& tensor) {
  const std::int64_t missing = rounded_up(tensor.size(1)) - tensor.size(1);
  return missing == 0 ? tensor.contiguous() : at::constant_pad_nd(tensor, {0, missing});
}

const GradientTarget kNoGradient({}, false);

// dx = dy · Wᵀ.
Product input_gradient(const at::Tensor& dy, const at::Tensor& weight, bool in_out,
                       const at::Tensor& dx) {
  return {.number = *common_number({dy}),
          .left = matrix(dy),
          .right = matrix(weight, in_out),
          .out = dx.data_ptr(),
          .out_stride = dx.stride(0)};
}

// dW = xᵀ · dy or its transpose; and the sums of dy for the bias.
void weight_gradient(const at::Tensor& x, const at::Tensor& dy, bool in_out,
                     const GradientTarget& d_weight, const GradientTarget& d_bias) {
  if (!d_weight) {
    if (d_bias) at::sum_out(const_cast<at::Tensor&>(d_bias.buffer()), dy, at::IntArrayRef{0});
    return;
  }
  const std::int64_t inner = in_out ? dy.size(1) : x.size(1);
  Product product = {.number = *common_number({dy}),
                     .left = in_out ? matrix(x, true) : matrix(dy, true),
                     .right = in_out ? matrix(dy) : matrix(x),
                     .out = d_weight.data(),
                     .out_stride = inner};
  (in_out ? product.right_sums : product.left_sums) = d_bias.data();
  multiply(product);
}

// {residual + x · W + bias, x}: who uses x further takes the second, see SplitProjection.
class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x,
                               const at::Tensor& weight,
                               const std::optional<at::Tensor>& maybe_bias,
                               const std::optional<at::Tensor>& residual, std::int64_t layout) {
    const at::Tensor bias = maybe_bias.value_or(at::Tensor());
    const bool in_out = is_in_out(layout);
    const auto w = in_out ? weight.detach() : padded_rows(two_dimensional(weight));
    const auto b = bias.defined() ? padded_rows(bias.detach()) : bias;
    const auto y = at::empty({x.size(0), w.size(in_out ? 1 : 0)}, x.options());
    multiply({.number = *common_number({x}),
              .left = matrix(x),
              .right = matrix(w, !in_out),
              .out = y.data_ptr(),
              .out_stride = y.stride(0),
              .added = residual ? residual->data_ptr() : nullptr,
              .bias = pointer(b)});
    context->save_for_backward({x, weight, bias, w});
    context->saved_data["in_out"] = in_out;
    context->saved_data["onto"] = residual.has_value();
    context->saved_data["promised"] = ZeroGradientPromise::given();
    context->set_materialize_grads(false);
    return {y.narrow(1, 0, in_out ? weight.size(1) : weight.size(0)), x};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (!gradients[0].defined()) return {gradients[1], {}, {}, {}, {}};
    const auto saved = context->get_saved_variables();
    const bool in_out = context->saved_data["in_out"].toBool();
    const bool promised = context->saved_data["promised"].toBool();
    const auto dy = padded_columns(gradients[0]);
    at::Tensor dx;
    if (context->needs_input_grad(0)) {
      dx = at::empty_like(saved[0]);
      const auto past = gradients[1].defined() ? gradients[1].contiguous() : at::Tensor();
      Product product = input_gradient(dy, saved[3], in_out, dx);
      product.added = pointer(past);
      multiply(product);
    }
    const GradientTarget d_weight(saved[1], promised);
    const GradientTarget d_bias(saved[2], promised);
    weight_gradient(saved[0], dy.narrow(1, 0, gradients[0].size(1)), in_out, d_weight, d_bias);
    const bool onto = context->saved_data["onto"].toBool();
    return {
        dx, d_weight.for_autograd(), d_bias.for_autograd(), onto ? gradients[0] : at::Tensor(), {}};
  }
};

variable_list apply_linear(const at::Tensor& rows, const LinearWeights& weights,
                           const std::optional<at::Tensor>& residual = std::nullopt) {
  return LinearFunction::apply(rows, weights.weight, if_defined(weights.bias), residual,
                               static_cast<std::int64_t>(weights.layout));
}

// Note [Back through gelu]
// cublasLt takes gelu's derivative inside the product, which leaves a pass that only reads for the
// bias before it; asked for that as well, it ran a separate kernel of 0.42 ms for 11,904 rows of
// 4,096 on an H200. For few rows one pass of our own after a plain product is faster: there, of
// 1,116 rows, 0.023 ms beside 0.031; of 11,904 rows 0.201 beside 0.179.
constexpr std::int64_t kRowsForGeluInProduct = 4096;

// d_before = (dy · Wᵀ) · gelu'(before), and its sums for the bias.
at::Tensor back_through_gelu(const at::Tensor& dy, const at::Tensor& weight,
                             const at::Tensor& before, const GradientTarget& d_bias) {
  const Number number = *common_number({before});
  const auto d_before = at::empty_like(before);
  Product product = input_gradient(dy, weight, /*in_out=*/true, d_before);
  const bool in_product = before.size(0) >= kRowsForGeluInProduct;
  if (in_product) product.gelu_of = before.data_ptr();
  multiply(product);
  const auto* kernels = cuda_kernels(Operation::Gelu);
  if (!in_product) {
    kernels->gelu_backward({.number = number,
                            .rows = before.size(0),
                            .width = before.size(1),
                            .before = before.data_ptr(),
                            .slopes = d_before.data_ptr(),
                            .d_bias = d_bias.data()});
  } else if (d_bias) {
    kernels->sum_columns({.number = number,
                          .rows = before.size(0),
                          .width = before.size(1),
                          .numbers = d_before.data_ptr(),
                          .totals = d_bias.data()});
  }
  return d_before;
}

// `out_bias` is added; its gradient is deferred: Note [Deferred bias gradient].
class GeluMlp : public torch::autograd::Function<GeluMlp> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& in,
                            const at::Tensor& in_bias, const at::Tensor& out,
                            const at::Tensor& out_bias) {
    const Number number = *common_number({x});
    const auto before = at::empty({x.size(0), in.size(1)}, x.options());
    const auto hidden = at::empty_like(before);
    multiply({.number = number,
              .left = matrix(x),
              .right = matrix(in),
              .out = hidden.data_ptr(),
              .out_stride = hidden.stride(0),
              .bias = pointer(in_bias),
              .before_gelu = before.data_ptr()});
    const auto y = at::empty({x.size(0), out.size(1)}, x.options());
    multiply({.number = number,
              .left = matrix(hidden),
              .right = matrix(out),
              .out = y.data_ptr(),
              .out_stride = y.stride(0),
              .bias = pointer(out_bias)});
    context->save_for_backward({x, in, in_bias, out, before, hidden});
    context->saved_data["promised"] = ZeroGradientPromise::given();
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const bool promised = context->saved_data["promised"].toBool();
    const at::Tensor& x = saved[0];
    const at::Tensor& before = saved[4];
    const auto dy = gradients[0].contiguous();
    const GradientTarget d_in(saved[1], promised);
    const GradientTarget d_in_bias(saved[2], promised);
    const GradientTarget d_out(saved[3], promised);

    weight_gradient(saved[5], dy, /*in_out=*/true, d_out, kNoGradient);
    const auto d_before = back_through_gelu(dy, saved[3], before, d_in_bias);
    weight_gradient(x, d_before, /*in_out=*/true, d_in, kNoGradient);
    at::Tensor dx;
    if (context->needs_input_grad(0)) {
      dx = at::empty_like(x);
      multiply(input_gradient(d_before, saved[1], /*in_out=*/true, dx));
    }
    return {dx, d_in.for_autograd(), d_in_bias.for_autograd(), d_out.for_autograd(), {}};
  }
};

bool fits(const at::Tensor& x, const LinearWeights& weights) {
  const auto number = common_number({x, weights.weight, weights.bias});
  if (!number || *number == Number::Fp32 || cuda_kernels(Operation::Matmul) == nullptr)
    return false;
  const bool odd_in_out =
      weights.layout == WeightLayout::InOut && weights.weight.size(1) % kStrideMultiple != 0;
  return x.numel() > 0 && x.size(-1) % kStrideMultiple == 0 && !odd_in_out &&
         weights.weight.is_contiguous();
}

// The width of the hidden layer must be one that gelu's epilogue and our kernel take.
bool fits_mlp(const at::Tensor& x, const LinearWeights& in, const LinearWeights& out) {
  static_assert(kStrideMultiple % kGeluWidthMultiple == 0);
  return cuda_kernels(Operation::Gelu) != nullptr && fits(x, in) && fits(x, out) && x.dim() == 2 &&
         in.layout == WeightLayout::InOut && out.layout == WeightLayout::InOut &&
         in.weight.size(1) % kStrideMultiple == 0 && out.weight.size(1) % kStrideMultiple == 0;
}

// What is added, without its gradient.
at::Tensor without_gradient(const at::Tensor& bias) {
  return bias.defined() ? bias.detach() : bias;
}

at::Tensor deferred(const at::Tensor& bias) {
  return bias.defined() && bias.requires_grad() ? bias : at::Tensor();
}

}  // namespace

at::Tensor Projection::with_bias_gradient() const {
  return deferred_bias.defined() ? rows + (deferred_bias - deferred_bias.detach()) : rows;
}

at::Tensor linear(const at::Tensor& x, const LinearWeights& weights) {
  if (!fits(x, weights)) return plain::linear(x, weights);
  const auto rows = x.reshape({-1, x.size(-1)}).contiguous();
  const auto y = apply_linear(rows, weights)[0];
  if (x.dim() == 2) return y;
  auto sizes = x.sizes().vec();
  sizes.back() = y.size(1);
  return y.view(sizes);
}

at::Tensor linear_onto(const at::Tensor& residual, const at::Tensor& x,
                       const LinearWeights& weights) {
  const bool odd = residual.size(1) % kStrideMultiple != 0;
  if (odd || !fits(x, weights) || !common_number({x, residual})) {
    return residual + linear(x, weights);
  }
  return apply_linear(x.contiguous(), weights, residual.contiguous())[0];
}

Projection project(const at::Tensor& x, const LinearWeights& weights) {
  return split_project(x, weights).branch;
}

SplitProjection split_project(const at::Tensor& x, const LinearWeights& weights) {
  if (!fits(x, weights)) {
    return {.branch = {.rows = plain::linear(x, weights), .deferred_bias = {}}, .past = x};
  }
  LinearWeights alone = weights;
  alone.bias = without_gradient(weights.bias);
  const auto both = apply_linear(x.contiguous(), alone);
  return {.branch = {.rows = both[0], .deferred_bias = deferred(weights.bias)}, .past = both[1]};
}

Projection gelu_mlp(const at::Tensor& x, const LinearWeights& in, const LinearWeights& out) {
  if (!fits_mlp(x, in, out)) return {.rows = plain::gelu_mlp(x, in, out), .deferred_bias = {}};
  return {.rows = GeluMlp::apply(x.contiguous(), in.weight, in.bias, out.weight,
                                 without_gradient(out.bias)),
          .deferred_bias = deferred(out.bias)};
}

}  // namespace myxtts
