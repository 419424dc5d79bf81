// SPDX-License-Identifier: Apache-2.0
#include "support/memory_corpus.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/random.h"

namespace myxtts::test {
namespace {

constexpr std::int64_t kStride = 256;  // samples of a code
constexpr std::uint16_t kCodes = 60;

ClipNumber number_of(const ClipView& clip) {
  ClipNumber number = 0;
  std::from_chars(clip.id.data(), clip.id.data() + clip.id.size(), number);
  return number;
}

// One draw of Philox for all of it: sanitizers make each one slow.
std::vector<std::int16_t> white_noise(const RandomStream& random, std::int64_t count) {
  std::uint64_t state = random.bits(0);
  std::vector<std::int16_t> samples(static_cast<std::size_t>(count));
  for (std::int16_t& sample : samples) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    sample = static_cast<std::int16_t>(state >> 49);
  }
  return samples;
}

}  // namespace

GptConfig tiny_gpt() {
  return {.text_ids = 30,
          .start_text = 28,
          .stop_text = 0,
          .audio_ids = kCodes + 2,
          .start_audio = kCodes,
          .stop_audio = kCodes + 1,
          .max_text_tokens = 20,
          .max_audio_tokens = 4000,
          .code_stride = kStride,
          .perceiver_latents = 2};
}

std::uint64_t hash_of(std::span<const std::int16_t> samples) {
  FastChecksum sum;
  sum.add(std::as_bytes(samples));
  return sum.value();
}

std::vector<std::uint16_t> fake_codes(std::span<const std::int16_t> samples, std::int64_t stride) {
  const auto step = static_cast<std::size_t>(stride);
  std::vector<std::uint16_t> codes;
  for (std::size_t first = 0; first < samples.size(); first += step) {
    const auto piece = samples.subspan(first, std::min(step, samples.size() - first));
    codes.push_back(static_cast<std::uint16_t>(hash_of(piece) % kCodes));
  }
  return codes;
}

MemoryCorpus::MemoryCorpus(const MemoryCorpusOptions& options) : options_(options) {
  for (std::size_t number = 0; number < options.clips; ++number) {
    const RandomStream random(options.seed, fmt::format("clip {}", number));
    Row row{.id = std::to_string(number)};
    row.samples = white_noise(random, random.integer(1'000'000, kStride + 1, options.longest));
    row.codes = fake_codes(row.samples);
    for (std::int64_t token = random.integer(1'000'001, 1, 9); token > 0; --token) {
      row.text.push_back(random.integer(2'000'000 + static_cast<std::uint64_t>(token), 1, 27));
    }
    rows_.push_back(std::move(row));
  }
}

const std::vector<ClipNumber>& MemoryCorpus::order(std::int64_t epoch, std::int64_t rank) const {
  const std::lock_guard lock(mutex_);
  auto [place, is_new] = orders_.try_emplace({epoch, rank});
  if (is_new) place->second = drawn_order(epoch, rank);
  return place->second;
}

std::vector<ClipNumber> MemoryCorpus::drawn_order(std::int64_t epoch, std::int64_t rank) const {
  const RandomStream random(options_.seed, fmt::format("order {}", epoch));
  std::vector<ClipNumber> mine;
  std::size_t place = 0;
  for (const std::size_t number : random.permutation(rows_.size())) {
    if (static_cast<std::int64_t>(place++) % options_.world_size == rank) {
      mine.push_back(static_cast<ClipNumber>(number));
    }
  }
  return mine;
}

std::int64_t MemoryCorpus::steps_per_epoch() const {
  const auto most =
      (static_cast<std::int64_t>(rows_.size()) + options_.world_size - 1) / options_.world_size;
  const auto size = static_cast<std::int64_t>(options_.batch_size);
  return (most + size - 1) / size;
}

PlannedBatch MemoryCorpus::batch(DataPosition position) const {
  if (on_batch) on_batch(position);
  return batch_of(position, options_.rank);
}

std::vector<PlannedBatch> MemoryCorpus::batches_of_ranks(DataPosition position) const {
  std::vector<PlannedBatch> batches;
  for (std::int64_t rank = 0; rank < options_.world_size; ++rank) {
    batches.push_back(batch_of(position, rank));
  }
  return batches;
}

PlannedBatch MemoryCorpus::batch_of(DataPosition position, std::int64_t rank) const {
  const std::vector<ClipNumber>& mine = order(position.epoch, rank);
  const std::size_t first =
      std::min(mine.size(), static_cast<std::size_t>(position.step) * options_.batch_size);
  const std::size_t last = std::min(mine.size(), first + options_.batch_size);
  const auto most_tokens = static_cast<std::int64_t>(options_.batch_size) *
                           (2 + 1 + 9 + options_.longest / kStride + 1 + 4);
  return {.position = position,
          .clips = {mine.begin() + static_cast<std::ptrdiff_t>(first),
                    mine.begin() + static_cast<std::ptrdiff_t>(last)},
          .repeats = {},
          .sizes = {.tokens = most_tokens,
                    .text_targets = most_tokens,
                    .audio_targets = most_tokens,
                    .longest = most_tokens}};
}

DataPosition MemoryCorpus::next(DataPosition position) const {
  if (position.step + 1 < steps_per_epoch()) return {position.epoch, position.step + 1};
  return {position.epoch + 1, 0};
}

ClipView MemoryCorpus::clip(ClipNumber number) const {
  const Row& row = rows_.at(number);
  const auto samples = static_cast<std::int64_t>(row.samples.size());
  ClipView view;
  view.id = row.id;
  view.audio = row.id;
  view.text = "text";
  view.language = "en";
  view.identity = number + 1;
  view.source_rate = 22050;
  view.source_frames = samples;
  view.samples = samples;
  view.text_tokens = static_cast<std::int64_t>(row.text.size());
  return view;
}

std::vector<std::int64_t> MemoryCorpus::text_ids(const ClipView& clip) const {
  return rows_[number_of(clip)].text;
}

PromptSpan MemoryCorpus::prompt(std::int64_t epoch, const ClipView& clip,
                                std::uint32_t repeat) const {
  const RandomStream random(options_.seed, fmt::format("prompt {} {} {}", epoch, clip.id, repeat));
  const std::int64_t first = random.integer(0, 0, clip.samples / 2);
  return {.first = first, .last = first + clip.samples / 2};
}

std::optional<CachedClip> MemoryCorpus::cached(const ClipView& clip) const {
  if (options_.cache != nullptr) return options_.cache->find(clip.identity);
  if (!options_.fill_cache) return std::nullopt;
  const Row& row = rows_[number_of(clip)];
  return CachedClip{.samples = row.samples, .codes = row.codes};
}

void MemoryCorpus::read_ahead(const ClipView& clip) const {
  if (on_read_ahead) on_read_ahead(number_of(clip));
}

std::variant<DecodedClip, Skipped> MemoryCorpus::decode(const ClipView& clip) const {
  const ClipNumber number = number_of(clip);
  {
    const std::lock_guard lock(mutex_);
    ++decodes_[number];
  }
  if (on_decode) {
    if (auto skipped = on_decode(number)) return *skipped;
  }
  return DecodedClip{.samples = rows_[number].samples, .sample_rate = 22050, .channels = 1};
}

void MemoryCorpus::leave_out(ClipNumber number, const Skipped& skipped) {
  const std::lock_guard lock(mutex_);
  left_out_.push_back(number);
  if (left_out_.size() > options_.most_skipped) {
    throw DataError(fmt::format("{} of {} clips cannot be used, the last one is {}.",
                                left_out_.size(), rows_.size(), skipped.file.string()));
  }
}

std::map<ClipNumber, int> MemoryCorpus::decodes() const {
  const std::lock_guard lock(mutex_);
  return decodes_;
}

std::vector<ClipNumber> MemoryCorpus::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

}  // namespace myxtts::test
