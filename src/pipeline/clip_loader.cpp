// SPDX-License-Identifier: Apache-2.0
#include "pipeline/clip_loader.h"

#include <utility>

#include "base/error.h"

namespace myxtts {
namespace {

bool is_whole(const CachedClip& cached, const ClipView& clip, std::int64_t code_stride) {
  return static_cast<std::int64_t>(cached.samples.size()) == clip.samples &&
         static_cast<std::int64_t>(cached.codes.size()) == codes_of(clip.samples, code_stride);
}

// Nothing when the sound is as long as it was.
std::optional<Skipped> changed_length(const DecodedClip& sound, const ClipView& clip) {
  const auto samples = static_cast<std::int64_t>(sound.samples.size());
  if (samples == clip.source_frames && sound.sample_rate == clip.source_rate) return std::nullopt;
  return Skipped{
      .file = std::filesystem::path(clip.audio),
      .manifest = std::filesystem::path(clip.manifest),
      .line = clip.line,
      .reason = samples > clip.source_frames ? SkipReason::AudioTooLong : SkipReason::Truncated,
      .measured = fmt::format("{} samples at {} Hz, {} at {} Hz when it was indexed", samples,
                              sound.sample_rate, clip.source_frames, clip.source_rate)};
}

}  // namespace

ClipResult load_clip(const BatchSource& source, ClipNumber number, std::int64_t code_stride) {
  const ClipView clip = source.clip(number);
  LoadedClip loaded{.number = number, .text = source.text_ids(clip), .sound = {}};
  MYXTTS_CHECK(static_cast<std::int64_t>(loaded.text.size()) == clip.text_tokens,
               "{} has {} text tokens, the index says {}", clip.id, loaded.text.size(),
               clip.text_tokens);

  const auto cached = source.cached(clip);
  if (cached && is_whole(*cached, clip, code_stride)) {
    loaded.sound = *cached;
    return loaded;
  }
  auto sound = source.decode(clip);
  if (auto* skipped = std::get_if<Skipped>(&sound)) return std::move(*skipped);
  auto& decoded = std::get<DecodedClip>(sound);
  if (auto changed = changed_length(decoded, clip)) return std::move(*changed);
  loaded.sound = std::move(decoded);
  return loaded;
}

}  // namespace myxtts
