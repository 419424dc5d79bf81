// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention.h"

#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/SDPBackend.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/cuda_kernels.h"
#include "kernels/ops/op_tensors.h"

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
                            const std::optional<at::Tensor>& deferred, const at::Tensor& ends,
                            std::int64_t heads, std::int64_t longest, double dropout) {
    const auto* kernels = cuda_kernels(Operation::RowAttention);
    Kept kept = {.ends = ends,
                 .mixed = at::empty({qkv.size(0), qkv.size(1) / 3}, qkv.options()),
                 .log_sums = at::empty({heads, qkv.size(0)}, qkv.options().dtype(at::kFloat)),
                 .bits = {}};
    if (dropout > 0.0) {
      const auto words =
          kernels->row_attention_kept_words(describe(qkv, heads, longest, dropout, kept));
      kept.bits = at::empty({words}, qkv.options().dtype(at::kInt));
    }
    kernels->row_attention_forward(describe(qkv, heads, longest, dropout, kept));
    context->save_for_backward(
        {qkv, deferred.value_or(at::Tensor()), ends, kept.mixed, kept.log_sums, kept.bits});
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
    const GradientTarget d_deferred(saved[1], context->saved_data["promised"].toBool());
    const auto d_mixed = gradients[0].contiguous();
    const auto d_qkv = at::empty_like(saved[0]);
    cuda_kernels(Operation::RowAttention)
        ->row_attention_backward(
            call,
            {.d_mixed = pointer(d_mixed), .d_qkv = pointer(d_qkv), .d_bias = d_deferred.data()});
    return {d_qkv, d_deferred.for_autograd(), {}, {}, {}, {}};
  }
};

}  // namespace

bool fits_row_attention(const at::Tensor& qkv, std::int64_t heads) {
  const auto* kernels = cuda_kernels(Operation::RowAttention);
  const auto number = common_number({qkv});
  return kernels != nullptr && number && *number != Number::Fp32 &&
         qkv.size(1) == 3 * heads * kHeadWidth && qkv.size(0) > 0 &&
         kernels->row_attention_fits_gpu();
}

at::Tensor row_attention(const Projection& qkv, std::int64_t heads, const PackedSegments& segments,
                         double dropout) {
  return RowAttentionFunction::apply(qkv.rows.contiguous(), if_defined(qkv.deferred_bias),
                                     segments.ends, heads, segments.longest, dropout);
}

namespace {

std::vector<at::Tensor> parts_of(const at::Tensor& qkv, std::int64_t heads) {
  return qkv.view({qkv.size(0), 3, heads, -1}).unbind(1);  // each [N, H, width]
}

auto attend(const std::vector<at::Tensor>& parts, const PackedSegments& segments, double dropout) {
  return at::_flash_attention_forward(parts[0], parts[1], parts[2], segments.ends, segments.ends,
                                      segments.longest, segments.longest, dropout,
                                      /*is_causal=*/true, /*return_debug_mask=*/false);
}

// The gradient of qkv: those of queries, keys and values, [N, D] each, side by side by stretches of
// columns; and their sums for the deferred bias.
at::Tensor join_gradients(const at::Tensor& qkv, const std::array<at::Tensor, 3>& parts,
                          std::int64_t stretch, const GradientTarget& d_deferred) {
  const auto joined = at::empty_like(qkv);
  cuda_kernels(Operation::Join)
      ->join({.number = *common_number({joined}),
              .rows = joined.size(0),
              .width = joined.size(1) / 3,
              .stretch = stretch,
              .parts = {pointer(parts[0]), pointer(parts[1]), pointer(parts[2])},
              .joined = pointer(joined),
              .sums = d_deferred.data()});
  return joined;
}

class FlashAttention : public torch::autograd::Function<FlashAttention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& qkv,
                            const std::optional<at::Tensor>& deferred, const at::Tensor& ends,
                            std::int64_t heads, std::int64_t longest, double dropout) {
    const auto [mixed, log_sums, random, unused, mask] =
        attend(parts_of(qkv, heads), {.ends = ends, .longest = longest}, dropout);
    context->save_for_backward(
        {qkv, deferred.value_or(at::Tensor()), ends, mixed, log_sums, random, unused});
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
    const GradientTarget d_deferred(saved[1], context->saved_data["promised"].toBool());
    const auto d_qkv = join_gradients(saved[0], {dq.contiguous(), dk.contiguous(), dv.contiguous()},
                                      saved[0].size(1) / 3, d_deferred);
    return {d_qkv, d_deferred.for_autograd(), {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor flash_attention(const Projection& qkv, std::int64_t heads,
                           const PackedSegments& segments, double dropout) {
  if (fits_row_attention(qkv.rows, heads)) return row_attention(qkv, heads, segments, dropout);
  const bool fits = cuda_kernels(Operation::Join) != nullptr && common_number({qkv.rows}) &&
                    qkv.rows.size(1) % (3 * kJoinMultiple) == 0;
  if (!fits) return plain::flash_attention(qkv.with_bias_gradient(), heads, segments, dropout);
  return FlashAttention::apply(qkv.rows.contiguous(), if_defined(qkv.deferred_bias), segments.ends,
                               heads, segments.longest, dropout);
}

at::Tensor plain::flash_attention(const at::Tensor& qkv, std::int64_t heads,
                                  const PackedSegments& segments, double dropout) {
  return std::get<0>(attend(parts_of(qkv, heads), segments, dropout)).reshape({qkv.size(0), -1});
}

namespace {

std::vector<at::Tensor> frame_parts(const at::Tensor& qkv, std::int64_t clips, std::int64_t heads) {
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
                            const std::optional<at::Tensor>& deferred, std::int64_t clips,
                            std::int64_t heads) {
    const auto parts = frame_parts(qkv, clips, heads);
    const auto found = at::_scaled_dot_product_cudnn_attention(parts[0], parts[1], parts[2], {},
                                                               /*compute_log_sumexp=*/true);
    context->save_for_backward({qkv, deferred.value_or(at::Tensor()), std::get<0>(found),
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
    const auto parts = frame_parts(saved[0], mixed.size(0), heads);
    const auto slopes = gradients[0].view({mixed.size(0), frames, heads, -1}).transpose(1, 2);
    const auto [dq, dk, dv] = at::_scaled_dot_product_cudnn_attention_backward(
        slopes, parts[0], parts[1], parts[2], mixed, saved[3], saved[6], saved[7],
        /*attn_bias=*/{}, saved[4], saved[5], frames, frames, /*dropout_p=*/0.0,
        /*is_causal=*/false);
    const GradientTarget d_deferred(saved[1], context->saved_data["promised"].toBool());
    const auto d_qkv = join_gradients(
        saved[0], {rows_of(dq).contiguous(), rows_of(dk).contiguous(), rows_of(dv).contiguous()},
        mixed.size(3), d_deferred);
    return {d_qkv, d_deferred.for_autograd(), {}, {}};
  }
};

bool fits_cudnn(const at::Tensor& qkv, std::int64_t clips, std::int64_t heads) {
  if (cuda_kernels(Operation::Join) == nullptr || !common_number({qkv}) ||
      at::globalContext().deterministicAlgorithms() ||
      qkv.size(1) % (3 * heads * kJoinMultiple) != 0) {
    return false;
  }
  const auto parts = frame_parts(qkv, clips, heads);
  return at::_fused_sdp_choice(parts[0], parts[1], parts[2]) ==
         static_cast<std::int64_t>(at::SDPBackend::cudnn_attention);
}

}  // namespace

at::Tensor frame_attention(const Projection& qkv, std::int64_t clips, std::int64_t heads) {
  if (!fits_cudnn(qkv.rows, clips, heads))
    return plain::frame_attention(qkv.with_bias_gradient(), clips, heads);
  return FrameAttention::apply(qkv.rows.contiguous(), if_defined(qkv.deferred_bias), clips, heads);
}

at::Tensor plain::frame_attention(const at::Tensor& qkv, std::int64_t clips, std::int64_t heads) {
  const auto parts = frame_parts(qkv, clips, heads);
  return rows_of(at::scaled_dot_product_attention(parts[0], parts[1], parts[2]));
}

}  // namespace myxtts
