// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <variant>
#include <vector>

#include "data/skipped.h"

namespace myxtts {

// A clip as it travels through host memory: all channels mixed to one and rounded to 16 bits, at
// the rate of its file. Resampling is the data device's work.
struct DecodedClip {
  std::vector<std::int16_t> samples;
  std::int64_t sample_rate = 0;
  std::int64_t channels = 0;  // that the file has
};

// Decodes one file and looks at what came out. What is wrong with the sound itself (unreadable,
// empty, truncated, not a number, clipped throughout, silent) comes back as a value. Any thread.
std::variant<DecodedClip, Skipped> decode_clip(const std::filesystem::path& path);

// How long a clip is, at the rate of its file.
struct AudioHeader {
  std::int64_t sample_rate = 0;
  std::int64_t channels = 0;
  std::int64_t frames = 0;  // samples of one channel; what decode_clip() gives for a whole file

  double seconds() const { return static_cast<double>(frames) / static_cast<double>(sample_rate); }
};

// Reads the header alone where the format counts its samples (WAV, FLAC, OGG, Opus, and MP3 whose
// encoder left a count), and decodes the whole file elsewhere. Any thread.
std::variant<AudioHeader, Skipped> read_audio_header(const std::filesystem::path& path);

}  // namespace myxtts
