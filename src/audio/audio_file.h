// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace myxtts {

// A decoded file, as it stands there: no mixing, no resampling.
struct AudioData {
  std::vector<float> samples;  // interleaved; full scale is ±1, but files may go beyond
  std::int64_t channels = 0;
  std::int64_t sample_rate = 0;

  std::int64_t frames() const { return static_cast<std::int64_t>(samples.size()) / channels; }
};

// Decodes a whole file (WAV, FLAC, OGG, Opus, MP3: what libsndfile reads). Memory follows what was
// decoded, never what a header claims. Throws DataError that names the file and what is wrong with
// it: missing, not audio, empty, cut short, longer than `kMaxAudioSamples`, or with values that are
// not numbers.
AudioData read_audio(const std::filesystem::path& path);

// Values of all channels together: 1 GiB in memory, three hours of mono at 22,050 Hz.
inline constexpr std::int64_t kMaxAudioSamples = std::int64_t{1} << 28;

// Writes a mono WAV of 16 bits; values beyond ±1 are clipped. The file appears whole or not at all.
// Throws DataError when it cannot be written.
void write_wav(const std::filesystem::path& path, std::span<const float> samples,
               std::int64_t sample_rate);

}  // namespace myxtts
