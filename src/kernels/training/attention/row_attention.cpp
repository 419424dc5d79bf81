// SPDX-License-Identifier: Apache-2.0
#include "kernels/training/attention/row_attention.h"

#include <optional>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/training/attention/row_attention_kernels.h"
#include "kernels/training/gradient_target.h"
#include "kernels/training/tensor_checks.h"

namespace myxtts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What the backward pass needs besides the rows and their bias, in this order.
struct Kept {
  at::Tensor ends;
  at::Tensor mixed;
  at::Tensor log_sums;  // [H, N] fp32
  at::Tensor bits;      // dropout's mask, or nothing
};

RowAttention describe(const at::Tensor& qkv, std::int64_t heads, std::int64_t longest,
                      double dropout, const Kept& kept) {
  return {.number = *common_number({qkv}),
          .rows = qkv.size(0),
          .heads = heads,
          .segments = kept.ends.size(0) - 1,
          .longest = longest,
          .ends = kept.ends.data_ptr<std::int32_t>(),
          .qkv = pointer(qkv),
          .dropout = dropout,
          .mixed = pointer(kept.mixed),
          .log_sums = static_cast<float*>(pointer(kept.log_sums)),
          .kept = static_cast<std::uint32_t*>(pointer(kept.bits))};
}

class RowAttentionFunction : public torch::autograd::Function<RowAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& qkv,
                            const std::optional<at::Tensor>& owed, const at::Tensor& ends,
                            std::int64_t heads, std::int64_t longest, double dropout) {
    const auto* kernels = cuda_kernels<RowAttentionKernels>();
    Kept kept = {.ends = ends,
                 .mixed = at::empty({qkv.size(0), qkv.size(1) / 3}, qkv.options()),
                 .log_sums = at::empty({heads, qkv.size(0)}, qkv.options().dtype(at::kFloat)),
                 .bits = {}};
    if (dropout > 0.0) {
      const auto words = kernels->kept_words(describe(qkv, heads, longest, dropout, kept));
      kept.bits = at::empty({words}, qkv.options().dtype(at::kInt));
    }
    kernels->forward(describe(qkv, heads, longest, dropout, kept));
    context->save_for_backward(
        {qkv, owed.value_or(at::Tensor()), ends, kept.mixed, kept.log_sums, kept.bits});
    context->saved_data["heads"] = heads;
    context->saved_data["longest"] = longest;
    context->saved_data["dropout"] = dropout;
    context->saved_data["promised"] = ZeroGradientPromise::given();
    return kept.mixed;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Kept kept = {.ends = saved[2], .mixed = saved[3], .log_sums = saved[4], .bits = saved[5]};
    const auto call = describe(saved[0], context->saved_data["heads"].toInt(),
                               context->saved_data["longest"].toInt(),
                               context->saved_data["dropout"].toDouble(), kept);
    const GradientTarget d_owed(saved[1], context->saved_data["promised"].toBool());
    const auto d_mixed = gradients[0].contiguous();
    const auto d_qkv = at::empty_like(saved[0]);
    cuda_kernels<RowAttentionKernels>()->backward(
        call, {.d_mixed = pointer(d_mixed), .d_qkv = pointer(d_qkv), .d_bias = d_owed.data()});
    return {d_qkv, d_owed.for_autograd(), {}, {}, {}, {}};
  }
};

}  // namespace

bool fits_row_attention(const at::Tensor& qkv, std::int64_t heads) {
  const auto* kernels = cuda_kernels<RowAttentionKernels>();
  const auto number = common_number({qkv});
  return kernels != nullptr && number && *number != Number::Fp32 &&
         qkv.size(1) == 3 * heads * kHeadWidth && qkv.size(0) > 0 && kernels->fits_gpu();
}

at::Tensor row_attention(const Projection& qkv, std::int64_t heads, const PackedSegments& segments,
                         double dropout) {
  const auto owed = qkv.owed_bias.defined() ? std::optional(qkv.owed_bias) : std::nullopt;
  return RowAttentionFunction::apply(qkv.rows.contiguous(), owed, segments.ends, heads,
                                     segments.longest, dropout);
}

}  // namespace myxtts
