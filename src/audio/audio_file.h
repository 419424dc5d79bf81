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

// Decodes a whole file (WAV, FLAC, OGG, Opus, MP3: what libsndfile reads; M4A, AAC, WebM and others
// through ffmpeg). Memory follows what was decoded, never what a header claims. Throws DataError
// that names the file and what is wrong with it: missing, not audio, empty, cut short, longer than
// `kMaxAudioSamples`, or with values that are not numbers.
AudioData read_audio(const std::filesystem::path& path);

// Samples as files of 16 bits have them; values beyond ±1 are clipped.
std::vector<short> to_16_bits(std::span<const float> samples);

// Values of all channels together: 1 GiB in memory, three hours of mono at 22,050 Hz.
inline constexpr std::int64_t kMaxAudioSamples = std::int64_t{1} << 28;

// Writes a mono WAV of 16 bits; values beyond ±1 are clipped. The file appears whole or not at all.
// Throws DataError when it cannot be written.
void write_wav(const std::filesystem::path& path, std::span<const float> samples,
               std::int64_t sample_rate);

// How many bytes of sound an open file promises beyond its end: a WAV by its header, an MP3 by the
// tag that its encoder left, an OGG by its last page. 0 for a whole file, for one whose writer
// could not know the length (a pipe) and for formats that promise nothing or where only decoding
// shows it (FLAC). Leaves the file's position alone.
//
// libsndfile reads what is there and says nothing, and a clip whose text goes on where its sound
// was cut off would teach a model to skip words.
std::int64_t missing_bytes(int file, std::int64_t size);

}  // namespace myxtts
