// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.h"

namespace myxtts::test {

enum class SoundFormat {
  Wav8,
  Wav16,
  Wav24,
  Wav32,
  WavFloat,
  WavDouble,
  WavExtensible,
  Flac16,
  Flac24,
  Vorbis,
  Opus,  // at 8, 12, 16, 24 or 48 kHz
  Mp3,   // at 8 to 48 kHz, one or two channels
};

const std::vector<SoundFormat>& all_sound_formats();
std::string_view name_of(SoundFormat format);
std::string_view extension_of(SoundFormat format);  // ".wav"

struct Sound {
  std::vector<float> samples;  // interleaved, full scale ±1
  std::int64_t rate = 22'050;
  std::int64_t channels = 1;
};

// A sum of swelling tones, different for each seed, that is neither silent nor clipped. Its values
// are multiples of 1/32768, so that formats of 16 bits and more keep them.
Sound made_sound(double seconds, std::uint64_t seed, std::int64_t rate = 22'050,
                 std::int64_t channels = 1);
std::vector<std::int16_t> as_16_bits(const Sound& sound);

// Creates the folder, too.
void write_sound(const std::filesystem::path& path, const Sound& sound, SoundFormat format);
void write_text(const std::filesystem::path& path, std::string_view text);

// A WAV file of 16 bits byte by byte, for tests that then damage it: the size of `data` stands at
// byte 40, the channels at 22, the rate at 24, samples from 44 on.
std::string wav_bytes(std::span<const std::int16_t> samples, std::int64_t rate = 22'050,
                      std::int64_t channels = 1);

struct MadeClip {
  std::string name;  // "clip_0001"
  std::string text;
  std::string speaker;
  Sound sound;
};

// Clips of 1 to 4 seconds with sentences that fit their length, by two speakers.
std::vector<MadeClip> made_clips(std::size_t count, std::uint64_t seed = 1);

// Lays the clips out below `folder`, and gives what to read: the folder, or the manifest where the
// layout fixes no name for it. Names and speakers become what the layout makes of them.
std::filesystem::path make_corpus(const std::filesystem::path& folder, CorpusLayout layout,
                                  const std::vector<MadeClip>& clips,
                                  SoundFormat format = SoundFormat::Wav16);

}  // namespace myxtts::test
