// SPDX-License-Identifier: Apache-2.0
#include "data/batches/row_lengths.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::int64_t kStopTargets = 4;

void check(const Corpus& corpus, ClipNumber clip, std::int64_t length, std::int64_t limit,
           std::string_view what) {
  if (length >= 1 && length <= limit) return;
  throw DataError(fmt::format("The clip {} has {} {}; this model takes 1 to {}.",
                              corpus.clip(clip).id, length, what, limit));
}

}  // namespace

RowLengths::RowLengths(const Corpus& corpus, std::span<const VisitGroup> groups,
                       const GptConfig& gpt)
    : latents_(gpt.perceiver_latents), rows_(corpus.size()) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint16_t>::max() - kStopTargets;
  for (const VisitGroup& group : groups) {
    for (const ClipNumber clip : group.clips) {
      const ClipLengths lengths = corpus.lengths(clip);
      const std::int64_t codes = (lengths.samples + gpt.code_stride - 1) / gpt.code_stride;
      check(corpus, clip, lengths.text_tokens, std::min(gpt.max_text_tokens, kMost), "text tokens");
      check(corpus, clip, codes, std::min(gpt.max_audio_tokens - 2, kMost), "codes of sound");
      rows_[clip] = {.text_targets = static_cast<std::uint16_t>(lengths.text_tokens + 1),
                     .audio_targets = static_cast<std::uint16_t>(codes + kStopTargets)};
      longest_ = std::max(longest_, tokens(clip));
      shortest_ = shortest_ == 0 ? tokens(clip) : std::min(shortest_, tokens(clip));
    }
  }
}

RowSizes RowLengths::total(std::span<const Visit> visits) const {
  RowSizes sum;
  for (const Visit& visit : visits) {
    sum.tokens += tokens(visit.clip);
    sum.text_targets += text_targets(visit.clip);
    sum.audio_targets += audio_targets(visit.clip);
    sum.longest = std::max(sum.longest, tokens(visit.clip));
  }
  return sum;
}

}  // namespace myxtts
