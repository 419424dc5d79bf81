// SPDX-License-Identifier: Apache-2.0
#include "session/samples/sample_clips.h"

#include <algorithm>

#include "text/text_encoder.h"

namespace myxtts {
namespace {

constexpr std::int64_t kGoodReference = 3 * kModelRate;  // samples
constexpr std::int64_t kShortest = 2 * kModelRate;
constexpr std::int64_t kLongest = 8 * kModelRate;

std::span<const ClipNumber> held_back(const Corpus& corpus) {
  return corpus.validation().empty() ? corpus.training() : corpus.validation();
}

SampleClip describe_clip(const ClipView& clip, const Vocabulary& vocabulary) {
  const TextEncoder encoder(vocabulary, parse_language(std::string(clip.language)));
  const auto ids = encoder.encode(clip.text).ids;
  return {.audio = std::filesystem::path(clip.audio),
          .text = std::string(clip.text),
          .language = std::string(clip.language),
          .samples = clip.samples,
          .ids = {ids.begin(), ids.end()}};
}

}  // namespace

std::vector<SampleClip> sample_clips(const Corpus& corpus, const Vocabulary& vocabulary,
                                     std::int64_t count) {
  const auto all = held_back(corpus);
  std::vector<ClipNumber> order(all.begin(), all.end());
  std::ranges::stable_partition(order, [&corpus](ClipNumber number) {
    const std::int64_t samples = corpus.clip(number).samples;
    return samples >= kShortest && samples <= kLongest;
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  std::vector<SampleClip> clips;
  for (const ClipNumber number : order) {
    clips.push_back(describe_clip(corpus.clip(number), vocabulary));
  }
  return clips;
}

std::filesystem::path reference_clip(const Corpus& corpus) {
  const auto clips = held_back(corpus);
  ClipNumber best = clips.front();
  for (const ClipNumber number : clips) {
    const std::int64_t samples = corpus.clip(number).samples;
    if (samples > corpus.clip(best).samples) best = number;
    if (samples >= kGoodReference) return {corpus.clip(number).audio};
  }
  return {corpus.clip(best).audio};
}

}  // namespace myxtts
