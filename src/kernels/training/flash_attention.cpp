// SPDX-License-Identifier: Apache-2.0
#include "kernels/training/flash_attention.h"

#include <optional>
#include <tuple>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/training/attention/row_attention.h"
#include "kernels/training/gradient_target.h"
#include "kernels/training/join_kernels.h"
#include "kernels/training/tensor_checks.h"

namespace myxtts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::vector<at::Tensor> parts_of(const at::Tensor& qkv, std::int64_t heads) {
  return qkv.view({qkv.size(0), 3, heads, -1}).unbind(1);  // each [N, H, width]
}

auto attend(const std::vector<at::Tensor>& parts, const PackedSegments& segments, double dropout) {
  return at::_flash_attention_forward(parts[0], parts[1], parts[2], segments.ends, segments.ends,
                                      segments.longest, segments.longest, dropout,
                                      /*is_causal=*/true, /*return_debug_mask=*/false);
}

class FlashAttention : public torch::autograd::Function<FlashAttention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& qkv,
                            const std::optional<at::Tensor>& owed, const at::Tensor& ends,
                            std::int64_t heads, std::int64_t longest, double dropout) {
    const auto [mixed, log_sums, random, unused, mask] =
        attend(parts_of(qkv, heads), {.ends = ends, .longest = longest}, dropout);
    context->save_for_backward(
        {qkv, owed.value_or(at::Tensor()), ends, mixed, log_sums, random, unused});
    context->saved_data["heads"] = heads;
    context->saved_data["longest"] = longest;
    context->saved_data["dropout"] = dropout;
    context->saved_data["promised"] = ZeroGradientPromise::given();
    return mixed.view({qkv.size(0), -1});
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto parts = parts_of(saved[0], context->saved_data["heads"].toInt());
    const std::int64_t longest = context->saved_data["longest"].toInt();
    const auto [dq, dk, dv] = at::_flash_attention_backward(
        gradients[0].contiguous().view(saved[3].sizes()), parts[0], parts[1], parts[2], saved[3],
        saved[4], saved[2], saved[2], longest, longest, context->saved_data["dropout"].toDouble(),
        /*is_causal=*/true, saved[5], saved[6]);
    const GradientTarget d_owed(saved[1], context->saved_data["promised"].toBool());
    const auto d_qkv = at::empty_like(saved[0]);
    const at::Tensor sides[] = {dq.contiguous(), dk.contiguous(), dv.contiguous()};
    cuda_kernels<JoinKernels>()->join(
        {.number = *common_number({d_qkv}),
         .rows = d_qkv.size(0),
         .width = d_qkv.size(1) / 3,
         .stretch = d_qkv.size(1) / 3,
         .parts = {pointer(sides[0]), pointer(sides[1]), pointer(sides[2])},
         .joined = pointer(d_qkv),
         .sums = d_owed.data()});
    return {d_qkv, d_owed.for_autograd(), {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor flash_attention(const Projection& qkv, std::int64_t heads,
                           const PackedSegments& segments, double dropout) {
  if (fits_row_attention(qkv.rows, heads)) return row_attention(qkv, heads, segments, dropout);
  const bool fits = cuda_kernels<JoinKernels>() != nullptr && common_number({qkv.rows}) &&
                    qkv.rows.size(1) % (3 * kJoinMultiple) == 0;
  if (!fits) return plain::flash_attention(qkv.settled(), heads, segments, dropout);
  const auto owed = qkv.owed_bias.defined() ? std::optional(qkv.owed_bias) : std::nullopt;
  return FlashAttention::apply(qkv.rows.contiguous(), owed, segments.ends, heads, segments.longest,
                               dropout);
}

at::Tensor plain::flash_attention(const at::Tensor& qkv, std::int64_t heads,
                                  const PackedSegments& segments, double dropout) {
  return std::get<0>(attend(parts_of(qkv, heads), segments, dropout)).reshape({qkv.size(0), -1});
}

}  // namespace myxtts
