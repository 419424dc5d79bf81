// SPDX-License-Identifier: Apache-2.0
#include "model/text_guide.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

namespace myxtts {
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
at::Tensor attention_of(const HeadSeen& seen, const Lines& lines) {
  const auto split = seen.qkv.view({seen.qkv.size(0), 3, seen.heads, -1}).select(2, seen.head);
  const auto queries = lines.of(split.select(1, 0));
  const auto keys = lines.of(split.select(1, 1));
  const double scale = 1.0 / std::sqrt(static_cast<double>(queries.size(2)));
  const auto scores = at::bmm(queries * scale, keys.transpose(1, 2)).to(at::kFloat);
  const std::int64_t longest = queries.size(1);
  const auto later = at::ones({longest, longest}, lines.valid.options()).triu(1);
  return scores.masked_fill(later, -std::numeric_limits<float>::infinity()).softmax(2);
}

}  // namespace

GuideSums text_guide(const HeadSeen& seen, std::int64_t text_positions, const GptBatch& batch) {
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
  const auto found = (attention_of(seen, lines) * counted).sum(2);
  const auto missed = -at::log(found.clamp_min(kLeast)) * is_code;
  return {.sum = missed.sum(), .count = is_code.sum(at::kFloat)};
}

}  // namespace myxtts
