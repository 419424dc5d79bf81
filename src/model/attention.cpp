// SPDX-License-Identifier: Apache-2.0
#include "model/attention.h"

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/training/dropout.h"
#include "kernels/training/flash_attention.h"

namespace myxtts {
namespace {

constexpr std::int64_t kCausalFromTopLeft = 1;  // custom_mask_type of the memory-efficient kernel
constexpr std::int64_t kFlashHeadMultiple = 8;  // what the flash kernel asks of a head's width
constexpr std::int64_t kFlashWidestHead = 256;

// Of one row; q, k and v [1, H, row, width]. With dropout it is LibTorch's own plain form, but for
// where numbers are drawn from.
at::Tensor attention_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        double dropout) {
  if (dropout == 0.0) return at::scaled_dot_product_attention(q, k, v, {}, 0.0, /*is_causal=*/true);
  const std::int64_t row = q.size(2);
  const auto later = at::ones({row, row}, q.options().dtype(at::kBool)).triu(1);
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  const auto scores = at::matmul(q * scale, k.transpose(2, 3))
                          .masked_fill(later, -std::numeric_limits<double>::infinity());
  return at::matmul(plain::dropout(at::softmax(scores, -1), dropout), v);
}

// Splitting and joining, rather than slicing, lets autograd join the rows' gradients in one copy.
at::Tensor row_by_row(const at::Tensor& qkv, const GptBatch& batch, double dropout) {
  std::vector<at::Tensor> mixed;
  for (const auto& row : qkv.split_with_sizes(batch.lengths)) {
    const auto parts = row.transpose(0, 2).unsqueeze(0).unbind(2);  // each [1, H, row, width]
    mixed.push_back(
        row.size(0) == 0
            ? row.select(1, 0)
            : attention_of(parts[0], parts[1], parts[2], dropout).squeeze(0).transpose(0, 1));
  }
  return at::cat(mixed);  // [N, H, width]
}

at::Tensor memory_efficient(const at::Tensor& qkv, const GptBatch& batch, double dropout) {
  const auto parts = qkv.unsqueeze(0).unbind(2);  // each [1, N, H, width]
  return std::get<0>(at::_efficient_attention_forward(
                         parts[0], parts[1], parts[2], /*bias=*/{}, batch.segment_ends,
                         batch.segment_ends, batch.longest, batch.longest, dropout,
                         kCausalFromTopLeft, /*compute_log_sumexp=*/true))
      .squeeze(0);
}

bool fits_flash(const at::Tensor& qkv, std::int64_t heads) {
  const std::int64_t width = qkv.size(1) / 3 / heads;
  return qkv.scalar_type() != at::kFloat && width % kFlashHeadMultiple == 0 &&
         width <= kFlashWidestHead;
}

}  // namespace

at::Tensor packed_attention(const Projection& qkv, std::int64_t heads, const GptBatch& batch,
                            double dropout) {
  const std::int64_t rows = qkv.rows.size(0);
  if (qkv.rows.is_cuda() && fits_flash(qkv.rows, heads)) {
    return flash_attention(qkv, heads, {.ends = batch.segment_ends, .longest = batch.longest},
                           dropout);
  }
  const auto split = qkv.settled().view({rows, 3, heads, -1});  // [N, 3, H, width]
  const auto mixed = qkv.rows.is_cuda() ? memory_efficient(split, batch, dropout)
                                        : row_by_row(split, batch, dropout);
  return mixed.reshape({rows, -1});
}

}  // namespace myxtts
