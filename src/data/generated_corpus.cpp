// SPDX-License-Identifier: Apache-2.0
#include "data/generated_corpus.h"

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numbers>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/random.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRate = 22'050;
constexpr double kCharactersASecond = 14;  // of read English
constexpr std::array kSyllables = {"ba", "den", "fo", "gari", "hul", "kem", "lo",  "mira",
                                   "ne", "pas", "ri", "sol",  "tun", "va",  "wes", "zo"};

std::string made_text(double seconds, const RandomStream& random) {
  const auto length = static_cast<std::size_t>(seconds * kCharactersASecond);
  std::string text;
  for (std::uint64_t draw = 0; text.size() < length; ++draw) {
    text += kSyllables[static_cast<std::size_t>(random.integer(draw, 0, kSyllables.size() - 1))];
    if (draw % 3 == 2) text += ' ';
  }
  return text + ".";
}

// A tone with two overtones, whose pitch and loudness waver as those of a voice.
std::vector<std::int16_t> made_sound(double seconds, double pitch) {
  const auto count = static_cast<std::size_t>(seconds * static_cast<double>(kRate));
  std::vector<std::int16_t> samples(count);
  double phase = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double time = static_cast<double>(i) / static_cast<double>(kRate);
    const double waver = std::sin(2 * std::numbers::pi * 1.7 * time);
    phase += 2 * std::numbers::pi * pitch * (1 + 0.1 * waver) / static_cast<double>(kRate);
    const double tone = std::sin(phase) + 0.5 * std::sin(2 * phase) + 0.25 * std::sin(5 * phase);
    samples[i] = static_cast<std::int16_t>(6000 * (0.6 + 0.4 * waver) * tone);
  }
  return samples;
}

void append(std::string& bytes, std::uint32_t value, int width) {
  for (int i = 0; i < width; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
}

// WAV, one channel of 16 bits.
std::string wav_of(const std::vector<std::int16_t>& samples) {
  const auto size = static_cast<std::uint32_t>(2 * samples.size());
  std::string bytes = "RIFF";
  append(bytes, 36 + size, 4);
  bytes += "WAVEfmt ";
  append(bytes, 16, 4);
  append(bytes, 1, 2);  // PCM
  append(bytes, 1, 2);  // channel
  append(bytes, kRate, 4);
  append(bytes, 2 * kRate, 4);
  append(bytes, 2, 2);
  append(bytes, 16, 2);
  bytes += "data";
  append(bytes, size, 4);
  const std::size_t header = bytes.size();
  bytes.resize(header + size);
  std::memcpy(bytes.data() + header, samples.data(), size);
  return bytes;
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    throw DataError(fmt::format(
        "{} cannot be written. Make room, or name a corpus with --train-data.", path.string()));
  }
}

constexpr std::uint64_t kSeed = 0;

}  // namespace

void generate_corpus(const fs::path& folder, std::int64_t clips, double shortest, double longest) {
  std::error_code failed;
  fs::create_directories(folder / "wavs", failed);
  if (failed) {
    throw DataError(
        fmt::format("The folder {} cannot be made: {}.", folder.string(), failed.message()));
  }
  const RandomStream lengths(kSeed, "generated corpus/lengths");
  std::string metadata;
  Progress progress({.title = "Making clips", .total = static_cast<std::uint64_t>(clips)});
  for (std::int64_t clip = 0; clip < clips; ++clip) {
    const auto number = static_cast<std::uint64_t>(clip);
    const double seconds = shortest + (longest - shortest) * lengths.uniform(number);
    const std::string name = fmt::format("made-{:05}", clip);
    const RandomStream words(kSeed, fmt::format("generated corpus/text {}", clip));
    const std::string text = made_text(seconds, words);
    write(folder / "wavs" / (name + ".wav"),
          wav_of(made_sound(seconds, 90 + 160 * words.uniform(1'000'000))));
    metadata += fmt::format("{}|{}|{}\n", name, text, text);
    progress.advance();
  }
  write(folder / "metadata.csv", metadata);
}

}  // namespace myxtts
