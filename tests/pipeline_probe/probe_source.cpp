// SPDX-License-Identifier: Apache-2.0
#include "probe_source.h"

#include <algorithm>
#include <span>

#include "audio/phase_filter.h"
#include "base/error.h"
#include "base/random.h"
#include "pipeline/clip_features.h"

namespace myxtts::test {
namespace {

constexpr std::uint64_t kSeed = 11;
constexpr std::int64_t kStepsLookedAt = 2000;  // for the largest batch

std::int64_t rounded_up(std::int64_t value) {
  return (value + 127) / 128 * 128;
}

}  // namespace

ProbeSource::ProbeSource(const std::filesystem::path& folder, const GptConfig& gpt,
                         std::int64_t batch_size)
    : gpt_(gpt), batch_size_(batch_size) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  const RandomStream texts(kSeed, "texts");
  for (const auto& path : paths) {
    const auto decoded = decode_clip(path);
    if (std::holds_alternative<Skipped>(decoded)) throw DataError("Cannot decode " + path + ".");
    const auto& sound = std::get<DecodedClip>(decoded);
    const auto frames = static_cast<std::int64_t>(sound.samples.size());
    const auto samples = resampled_length(frames, sound.sample_rate, ClipFeatures::kRate);
    clips_.push_back({.path = path,
                      .rate = sound.sample_rate,
                      .frames = frames,
                      .samples = samples,
                      .text = std::max<std::int64_t>(
                          8, samples / 2000 + texts.integer(clips_.size(), -10, 10))});
  }
  for (std::int64_t step = 0; step < kStepsLookedAt; ++step) {
    RowSizes own = {};
    for (const ClipNumber number : drawn(step)) {
      const std::int64_t text = clips_[number].text + 1;
      const std::int64_t audio = ClipFeatures::code_count(clips_[number].samples) + 4;
      own.text_targets += text;
      own.audio_targets += audio;
      own.longest = std::max(own.longest, gpt_.perceiver_latents + text + audio);
    }
    own.tokens = own.text_targets + own.audio_targets + batch_size_ * gpt_.perceiver_latents;
    sizes_.tokens = std::max(sizes_.tokens, rounded_up(own.tokens));
    sizes_.text_targets = std::max(sizes_.text_targets, rounded_up(own.text_targets));
    sizes_.audio_targets = std::max(sizes_.audio_targets, rounded_up(own.audio_targets));
    sizes_.longest = std::max(sizes_.longest, own.longest);
  }
  // Clips and pieces of padding, as a plan of batches counts them.
  sizes_.segments = batch_size_ + (sizes_.tokens + sizes_.longest - 1) / sizes_.longest;
}

// Batches go through the clips in an order of each epoch's own, as a corpus does, and take an equal
// share of long and short ones.
std::vector<ClipNumber> ProbeSource::drawn(std::int64_t step) const {
  const auto count = static_cast<std::int64_t>(clips_.size());
  const std::int64_t steps_per_epoch = std::max<std::int64_t>(1, count / batch_size_);
  const RandomStream order(kSeed + static_cast<std::uint64_t>(step / steps_per_epoch), "order");
  const auto permutation = order.permutation(clips_.size());
  std::vector<ClipNumber> numbers;
  for (std::int64_t i = 0; i < std::min(batch_size_, count); ++i) {
    const auto place = static_cast<std::size_t>((step % steps_per_epoch) * batch_size_ + i);
    numbers.push_back(static_cast<ClipNumber>(permutation[place]));
  }
  return numbers;
}

PlannedBatch ProbeSource::batch(DataPosition position) const {
  PlannedBatch batch;
  batch.position = position;
  batch.clips = drawn(position.step);
  batch.repeats.resize(batch.clips.size());
  batch.sizes = sizes_;
  return batch;
}

ClipView ProbeSource::clip(ClipNumber number) const {
  const Clip& clip = clips_[number];
  ClipView view;
  view.id = clip.path;
  view.audio = clip.path;
  view.identity = number;
  view.source_rate = clip.rate;
  view.source_frames = clip.frames;
  view.samples = clip.samples;
  view.text_tokens = clip.text;
  return view;
}

std::vector<std::int64_t> ProbeSource::text_ids(const ClipView& clip) const {
  const RandomStream ids(kSeed + clip.identity, "ids");
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < of(clip).text; ++i) {
    result.push_back(ids.integer(static_cast<std::uint64_t>(i), 2, gpt_.text_ids - 1));
  }
  return result;
}

PromptSpan ProbeSource::prompt(std::int64_t, const ClipView& clip, std::uint32_t) const {
  const RandomStream draws(kSeed + clip.identity, "prompt");
  std::int64_t length = draws.integer(0, 66'150, PromptMels::kSamples);
  if (length > clip.samples) length = clip.samples / 2;
  const std::int64_t first = draws.integer(1, 0, clip.samples - length);
  return {.first = first, .last = first + length};
}

std::optional<CachedClip> ProbeSource::cached(const ClipView& clip) const {
  if (!use_cache_) return std::nullopt;
  return CachedClip{.samples = of(clip).cached_samples, .codes = of(clip).cached_codes};
}

std::variant<DecodedClip, Skipped> ProbeSource::decode(const ClipView& clip) const {
  return decode_clip(of(clip).path);
}

void ProbeSource::leave_out(ClipNumber, const Skipped& skipped) {
  throw DataError(fmt::format("{} was left out.", skipped.file.string()));
}

void ProbeSource::cache(ClipNumber number, std::vector<std::int16_t> samples,
                        std::vector<std::uint16_t> codes) {
  clips_[number].cached_samples = std::move(samples);
  clips_[number].cached_codes = std::move(codes);
}

}  // namespace myxtts::test
