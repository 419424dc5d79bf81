// SPDX-License-Identifier: Apache-2.0
#include "model/attention.h"

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/attention/attention.h"
#include "kernels/ops/dropout.h"

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
  const auto split = qkv.with_bias_gradient().view({rows, 3, heads, -1});  // [N, 3, H, width]
  const auto mixed = qkv.rows.is_cuda() ? memory_efficient(split, batch, dropout)
                                        : row_by_row(split, batch, dropout);
  return mixed.reshape({rows, -1});
}

namespace {

constexpr double kSpread = 0.1;  // of a whole text, to each side; and a token more
constexpr double kLeast = 1e-6;  // of attention, so that its logarithm stays finite

// The batch's rows, each in a line of its own: [segments, longest], the ends filled up.
struct Lines {
  at::Tensor tokens;  // int64: which of the packed tokens stands there
  at::Tensor valid;   // bool

  // [N, ...] -> [segments, longest, ...]
  at::Tensor of(const at::Tensor& packed) const {
    auto shape = tokens.sizes().vec();
    for (std::int64_t d = 1; d < packed.dim(); ++d) shape.push_back(packed.size(d));
    return packed.index_select(0, tokens.flatten()).view(shape);
  }
};

Lines lines_of(const GptBatch& batch) {
  const auto ends = batch.segment_ends.to(at::kLong);
  const auto first = ends.narrow(0, 0, ends.size(0) - 1).unsqueeze(1);
  const auto last = ends.narrow(0, 1, ends.size(0) - 1).unsqueeze(1);
  const auto tokens = first + at::arange(batch.longest, ends.options());
  return {.tokens = tokens.clamp_max(batch.tokens.size(0) - 1), .valid = tokens < last};
}

// How far through its part each token is, from 0 to 1; `places` counts from 0 where `part` is.
at::Tensor progress(const at::Tensor& places, const at::Tensor& part) {
  const auto length = part.sum(1, /*keepdim=*/true).clamp_min(1);
  return (places + 0.5) / length;
}

// What a head's queries give to the keys of their own line: [segments, longest, longest]
at::Tensor attention_of_head(const at::Tensor& qkv, std::int64_t heads, std::int64_t head,
                             const Lines& lines) {
  const auto split = qkv.view({qkv.size(0), 3, heads, -1}).select(2, head);
  const auto queries = lines.of(split.select(1, 0));
  const auto keys = lines.of(split.select(1, 1));
  const double scale = 1.0 / std::sqrt(static_cast<double>(queries.size(2)));
  const auto scores = at::bmm(queries * scale, keys.transpose(1, 2)).to(at::kFloat);
  const std::int64_t longest = queries.size(1);
  const auto later = at::ones({longest, longest}, lines.valid.options()).triu(1);
  return scores.masked_fill(later, -std::numeric_limits<float>::infinity()).softmax(2);
}

}  // namespace

GuideSums text_guide(const at::Tensor& qkv, std::int64_t heads, std::int64_t head,
                     std::int64_t text_positions, const GptBatch& batch) {
  const Lines lines = lines_of(batch);
  const auto positions = lines.of(batch.positions);  // 0: a latent or padding
  const auto is_text = lines.valid & (positions > 0) & (positions <= text_positions);
  const auto is_code = lines.valid & (positions > text_positions);
  const auto through_text = progress((positions - 1).to(at::kFloat), is_text);
  const auto through_speech = progress((positions - 1 - text_positions).to(at::kFloat), is_code);

  const auto apart = through_speech.unsqueeze(2) - through_text.unsqueeze(1);
  const auto token = is_text.sum(1).clamp_min(1).to(at::kFloat).reciprocal().view({-1, 1, 1});
  const auto near = at::exp(apart.square() * -0.5 / (token.square() + kSpread * kSpread));
  const auto counted = near * is_text.unsqueeze(1);
  const auto found = (attention_of_head(qkv, heads, head, lines) * counted).sum(2);
  const auto missed = -at::log(found.clamp_min(kLeast)) * is_code;
  return {.sum = missed.sum(), .count = is_code.sum(at::kFloat)};
}

}  // namespace myxtts
