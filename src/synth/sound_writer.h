// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace myxtts {

// Where speech goes as it is made: mono, 16 bits, or Vorbis.
//
//   open ──write()*──▶ finish()     everything is there under its name
//             └──────▶ ~            without finish(): see Appears
//
// Errors are DataErrors that name the file. One thread at a time.
class SoundWriter {
 public:
  virtual ~SoundWriter() = default;

  // Values beyond ±1 are clipped.
  virtual void write(std::span<const float> samples) = 0;
  virtual void finish() = 0;
};

enum class Appears {
  Whole,    // under its name by finish() and not before; else not at all
  Growing,  // at once, and a valid file after each write(), also if the process is killed
};

// By the extension of `path`: .wav, .flac, .ogg, and .opus and .mp3 where libsndfile was built with
// them; "-" is raw 16-bit PCM on standard output. Throws ConfigError for another extension.
std::unique_ptr<SoundWriter> open_sound_writer(const std::filesystem::path& path,
                                               std::int64_t sample_rate, Appears appears);

// Throws ConfigError, with what can be written here, when open_sound_writer() could not write such
// a file; and for "-" when standard output is a terminal, which cannot play it.
void check_sound_output(const std::filesystem::path& path);

}  // namespace myxtts
