// SPDX-License-Identifier: Apache-2.0
#include "kernels/training/frame_attention.h"

#include <optional>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/SDPBackend.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/training/gradient_target.h"
#include "kernels/training/join_kernels.h"
#include "kernels/training/tensor_checks.h"

namespace myxtts {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::vector<at::Tensor> parts_of(const at::Tensor& qkv, std::int64_t clips, std::int64_t heads) {
  // each [B, H, F, width]
  return qkv.view({clips, qkv.size(0) / clips, heads, 3, -1}).transpose(1, 2).unbind(3);
}

// [B, H, F, width] -> [B · F, D]
at::Tensor rows_of(const at::Tensor& mixed) {
  return mixed.transpose(1, 2).flatten(2).flatten(0, 1);
}

class FrameAttention : public torch::autograd::Function<FrameAttention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& qkv,
                            const std::optional<at::Tensor>& owed, std::int64_t clips,
                            std::int64_t heads) {
    const auto parts = parts_of(qkv, clips, heads);
    const auto found = at::_scaled_dot_product_cudnn_attention(parts[0], parts[1], parts[2], {},
                                                               /*compute_log_sumexp=*/true);
    context->save_for_backward({qkv, owed.value_or(at::Tensor()), std::get<0>(found),
                                std::get<1>(found), std::get<2>(found), std::get<3>(found),
                                std::get<6>(found), std::get<7>(found)});
    context->saved_data["promised"] = ZeroGradientPromise::given();
    return rows_of(std::get<0>(found));
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& mixed = saved[2];
    const std::int64_t heads = mixed.size(1);
    const std::int64_t frames = mixed.size(2);
    const auto parts = parts_of(saved[0], mixed.size(0), heads);
    const auto slopes = gradients[0].view({mixed.size(0), frames, heads, -1}).transpose(1, 2);
    const auto [dq, dk, dv] = at::_scaled_dot_product_cudnn_attention_backward(
        slopes, parts[0], parts[1], parts[2], mixed, saved[3], saved[6], saved[7],
        /*attn_bias=*/{}, saved[4], saved[5], frames, frames, /*dropout_p=*/0.0,
        /*is_causal=*/false);
    const GradientTarget d_owed(saved[1], context->saved_data["promised"].toBool());
    const auto d_qkv = at::empty_like(saved[0]);
    const at::Tensor sides[] = {rows_of(dq).contiguous(), rows_of(dk).contiguous(),
                                rows_of(dv).contiguous()};
    cuda_kernels<JoinKernels>()->join(
        {.number = *common_number({d_qkv}),
         .rows = d_qkv.size(0),
         .width = d_qkv.size(1) / 3,
         .stretch = mixed.size(3),
         .parts = {pointer(sides[0]), pointer(sides[1]), pointer(sides[2])},
         .joined = pointer(d_qkv),
         .sums = d_owed.data()});
    return {d_qkv, d_owed.for_autograd(), {}, {}};
  }
};

bool fits(const at::Tensor& qkv, std::int64_t clips, std::int64_t heads) {
  if (cuda_kernels<JoinKernels>() == nullptr || !common_number({qkv}) ||
      at::globalContext().deterministicAlgorithms() ||
      qkv.size(1) % (3 * heads * kJoinMultiple) != 0) {
    return false;
  }
  const auto parts = parts_of(qkv, clips, heads);
  return at::_fused_sdp_choice(parts[0], parts[1], parts[2]) ==
         static_cast<std::int64_t>(at::SDPBackend::cudnn_attention);
}

}  // namespace

at::Tensor frame_attention(const Projection& qkv, std::int64_t clips, std::int64_t heads) {
  if (!fits(qkv.rows, clips, heads)) return plain::frame_attention(qkv.settled(), clips, heads);
  const auto owed = qkv.owed_bias.defined() ? std::optional(qkv.owed_bias) : std::nullopt;
  return FrameAttention::apply(qkv.rows.contiguous(), owed, clips, heads);
}

at::Tensor plain::frame_attention(const at::Tensor& qkv, std::int64_t clips, std::int64_t heads) {
  const auto parts = parts_of(qkv, clips, heads);
  return rows_of(at::scaled_dot_product_attention(parts[0], parts[1], parts[2]));
}

}  // namespace myxtts
