// SPDX-License-Identifier: Apache-2.0
#include "audio/sound_encoder.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "base/child_process.h"
#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts::sound_encoder_test {
namespace {

constexpr std::int64_t kRate = 24000;

std::vector<float> tone(std::size_t samples) {
  std::vector<float> sound(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    sound[i] = 0.5F * static_cast<float>(std::sin(0.1 * static_cast<double>(i)));
  }
  return sound;
}

std::string encoded(SoundFormat format, const std::vector<float>& sound, std::size_t step) {
  const auto encoder = make_sound_encoder(format, kRate);
  std::string bytes;
  for (std::size_t at = 0; at < sound.size(); at += step) {
    bytes += encoder->add(std::span(sound).subspan(at, std::min(step, sound.size() - at)));
  }
  return bytes + encoder->finish();
}

class Formats : public testing::TestWithParam<const char*> {};

TEST_P(Formats, SoundIsWhatItWasWhateverPartsItComesIn) {
  const auto format = *parse_sound_format(GetParam());
  if (format == SoundFormat::Aac && find_program("ffmpeg").empty()) {
    EXPECT_THROW(make_sound_encoder(format, kRate), ConfigError);
    GTEST_SKIP() << "ffmpeg is not installed";
  }
  const auto sound = tone(30'000);
  const test::TemporaryFolder folder;
  const std::string ending = format == SoundFormat::Pcm ? "wav" : GetParam();
  std::vector<float> first;
  for (const std::size_t step : {30'000U, 4096U, 333U}) {
    std::string bytes = encoded(format, sound, step);
    if (format == SoundFormat::Pcm) bytes = wav_of({}, kRate) + bytes;  // to be read back
    std::ofstream(folder / ("x." + ending), std::ios::binary) << bytes;
    if (format == SoundFormat::Pcm || format == SoundFormat::Wav) {
      ASSERT_EQ(bytes.size(), 44 + sound.size() * 2);
      EXPECT_EQ(bytes.substr(44), wav_of(sound, kRate).substr(44));
      continue;
    }
    const auto read = read_audio(folder / ("x." + ending)).samples;
    // Encoders of MP3 and AAC put silence before and behind.
    EXPECT_GE(read.size(), sound.size() - 100);
    EXPECT_LE(read.size(), sound.size() + 6000);
    if (first.empty()) first = read;
    EXPECT_EQ(read, first) << step;
    double energy = 0;
    for (const float sample : read) energy += static_cast<double>(sample) * sample;
    EXPECT_NEAR(energy, 3750, 500);  // half of half squared, but for what encoders lose
  }
}

INSTANTIATE_TEST_SUITE_P(All, Formats, testing::Values("mp3", "opus", "aac", "flac", "wav", "pcm"),
                         [](const auto& entry) { return std::string(entry.param); });

TEST(SoundFormats, AreSentUnderTheirTypes) {
  EXPECT_EQ(mime_type_of(SoundFormat::Mp3, kRate), "audio/mpeg");
  EXPECT_EQ(mime_type_of(SoundFormat::Pcm, kRate), "audio/pcm;rate=24000");
  EXPECT_FALSE(parse_sound_format("exe"));
}

}  // namespace
}  // namespace myxtts::sound_encoder_test
