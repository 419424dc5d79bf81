// SPDX-License-Identifier: Apache-2.0
#include "support/fake_features.h"

#include "base/checksum.h"
#include "support/memory_corpus.h"

namespace myxtts::test {
namespace {

std::vector<std::int64_t> find_codes(const HostBatch& host, std::int64_t stride) {
  std::vector<std::int64_t> codes;
  for (const HostClip& clip : host.host_clips) {
    if (clip.codes_known) continue;
    const auto samples = host.samples.subspan(static_cast<std::size_t>(clip.first_sample),
                                              static_cast<std::size_t>(clip.source_samples));
    for (const std::uint16_t code : fake_codes(samples, stride)) codes.push_back(code);
  }
  return codes;
}

// Note [Unknown codes]
void complete(const HostBatch& host, std::int64_t text_ids, std::int64_t stride, FakeBatch& slot) {
  const std::vector<std::int64_t> codes = find_codes(host, stride);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    slot.tokens.at(static_cast<std::size_t>(host.code_tokens[i])) = codes[i] + text_ids;
  }
  for (std::size_t i = 0; i < host.code_targets.size(); ++i) {
    slot.audio_targets.at(static_cast<std::size_t>(host.code_targets[i])) =
        codes.at(static_cast<std::size_t>(host.code_target_codes[i]));
  }
}

template <typename T>
void add(FastChecksum& sum, std::span<const T> values) {
  sum.add(std::as_bytes(values));
}

// At the rate of its file.
std::span<const std::int16_t> prompt_of(const HostBatch& host, const HostClip& clip) {
  const auto first = clip.first_sample + (clip.codes_known ? 0 : clip.prompt.first);
  return host.samples.subspan(static_cast<std::size_t>(first),
                              static_cast<std::size_t>(clip.prompt.last - clip.prompt.first));
}

std::uint64_t hash_everything(const HostBatch& host, const FakeBatch& slot) {
  FastChecksum sum;
  for (const HostClip& clip : host.host_clips) add(sum, prompt_of(host, clip));
  add(sum, host.rows.segment_ends);
  add(sum, host.rows.positions);
  add(sum, host.rows.target_rows);
  add(sum, host.rows.text_targets);
  add(sum, host.rows.text_clips);
  add(sum, host.rows.audio_clips);
  add<std::int64_t>(sum, slot.tokens);
  add<std::int64_t>(sum, slot.audio_targets);
  add<std::int64_t>(sum, host.rows.lengths);
  for (const HostClip& clip : host.host_clips) {
    const std::vector<std::int64_t> facts = {clip.number, clip.samples, clip.codes,
                                             clip.prompt.first, clip.prompt.last};
    add<std::int64_t>(sum, facts);
  }
  const std::vector<std::int64_t> facts = {
      host.number,           host.position.epoch,    host.position.step, host.rows.longest,
      host.rows.counts.text, host.rows.counts.audio, host.ends_step};
  add<std::int64_t>(sum, facts);
  add(sum, std::span<const double>(&host.audio_seconds, 1));
  add(sum, host.rows.text_count);
  add(sum, host.rows.audio_count);
  return sum.value();
}

}  // namespace

std::vector<FakeBatch> FakeFeatures::make_slots(std::size_t count, std::size_t /*trainer*/) const {
  return std::vector<FakeBatch>(count);
}

void FakeFeatures::keep(const HostBatch& host) {
  std::vector<std::int64_t> codes = find_codes(host, stride);
  std::vector<ComputedClip> clips;
  for (const HostClip& clip : host.host_clips) {
    if (clip.codes_known) continue;
    auto* samples = const_cast<std::int16_t*>(host.samples.data() + clip.first_sample);
    clips.push_back({.identity = clip.identity,
                     .samples = {.data = samples},
                     .sample_count = static_cast<std::size_t>(clip.source_samples),
                     .codes = {.data = codes.data() + clip.first_code},
                     .code_count = static_cast<std::size_t>(clip.codes)});
  }
  encoded_clips += std::ssize(clips);
  if (filler != nullptr) filler->keep(clips);
}

void FakeFeatures::fill(HostBatch& host, FakeBatch& slot) {
  FakeTimes times{.number = host.number, .began = Event(), .ended = Event()};
  times.began.record({});
  if (on_fill) on_fill(host);
  slot.number = host.number;
  slot.position = host.position;
  slot.ends_step = host.ends_step;
  slot.text_count = host.rows.counts.text;
  slot.audio_count = host.rows.counts.audio;
  slot.clips.clear();
  slot.sounds.clear();
  for (const HostClip& clip : host.host_clips) {
    slot.clips.push_back(clip.number);
    slot.sounds.push_back(
        hash_of(host.samples.subspan(static_cast<std::size_t>(clip.first_sample),
                                     static_cast<std::size_t>(clip.source_samples))));
  }
  slot.tokens.assign(host.rows.tokens.begin(), host.rows.tokens.end());
  slot.audio_targets.assign(host.rows.audio_targets.begin(), host.rows.audio_targets.end());
  complete(host, text_ids_, stride, slot);
  slot.hash = hash_everything(host, slot);
  keep(host);
  times.encoded.record({});
  if (on_prompts) on_prompts(host);
  times.ended.record({});
  if (on_send) on_send(host);
  times.sent.record({});
  slot.filled.record({});
  host.block.reset();
  times_.push_back(std::move(times));
}

}  // namespace myxtts::test
