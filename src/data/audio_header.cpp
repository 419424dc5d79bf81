// SPDX-License-Identifier: Apache-2.0
#include "data/audio_header.h"

#include <utility>

#include <fmt/format.h>

#include "audio/audio_file.h"
#include "data/clip_decoder.h"
#include "data/sound_file.h"

namespace myxtts {
namespace {

std::variant<AudioHeader, Skipped> decoded_header(const std::filesystem::path& path) {
  auto decoded = decode_clip(path);
  if (auto* skipped = std::get_if<Skipped>(&decoded)) return std::move(*skipped);
  const auto& clip = std::get<DecodedClip>(decoded);
  return AudioHeader{.sample_rate = clip.sample_rate,
                     .channels = clip.channels,
                     .frames = static_cast<std::int64_t>(clip.samples.size())};
}

}  // namespace

std::variant<AudioHeader, Skipped> read_audio_header(const std::filesystem::path& path) {
  auto opened = SoundFile::open(path);
  if (auto* skipped = std::get_if<Skipped>(&opened)) return std::move(*skipped);
  const auto& file = std::get<SoundFile>(opened);
  if (!file.length_is_exact()) return decoded_header(path);
  if (file.promised_frames() <= 0) {
    return Skipped{.file = path, .reason = SkipReason::Empty, .measured = "0 samples"};
  }
  if (file.promised_frames() > kMaxAudioSamples) {  // whatever is computed from it stays in range
    return Skipped{.file = path,
                   .reason = SkipReason::AudioTooLong,
                   .measured = fmt::format("{} samples, at most {}", file.promised_frames(),
                                           kMaxAudioSamples)};
  }
  return AudioHeader{.sample_rate = file.sample_rate(),
                     .channels = file.channels(),
                     .frames = file.promised_frames()};
}

}  // namespace myxtts
