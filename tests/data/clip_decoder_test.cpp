// SPDX-License-Identifier: Apache-2.0
#include "data/clip_decoder.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/audio_header.h"
#include "support/corpus_maker.h"
#include "support/temporary_folder.h"

namespace myxtts {
namespace {

using test::Sound;
using test::SoundFormat;

DecodedClip decoded(const std::filesystem::path& path) {
  const auto result = decode_clip(path);
  if (const auto* skipped = std::get_if<Skipped>(&result)) {
    ADD_FAILURE() << path << ": " << name_of(skipped->reason) << ", " << skipped->measured;
    return {};
  }
  return std::get<DecodedClip>(result);
}

bool is_lossy(SoundFormat format) {
  return format == SoundFormat::Vorbis || format == SoundFormat::Opus || format == SoundFormat::Mp3;
}

double loudness(const std::vector<std::int16_t>& samples) {
  double sum = 0.0;
  for (const std::int16_t sample : samples) sum += static_cast<double>(sample) * sample;
  return std::sqrt(sum / static_cast<double>(samples.size()));
}

TEST(ClipDecoder, EveryFormatGivesBackWhatWasWritten) {
  const test::TemporaryFolder folder;
  for (const SoundFormat format : test::all_sound_formats()) {
    SCOPED_TRACE(test::name_of(format));
    const Sound sound = test::made_sound(1.3, 7, 24'000);
    const auto path = folder / ("x" + std::string(test::extension_of(format)));
    test::write_sound(path, sound, format);
    const DecodedClip clip = decoded(path);
    const auto expected = test::as_16_bits(sound);
    EXPECT_EQ(clip.sample_rate, 24'000);
    EXPECT_EQ(clip.channels, 1);
    if (is_lossy(format)) {
      EXPECT_NEAR(static_cast<double>(clip.samples.size()), static_cast<double>(expected.size()),
                  2500.0);
      EXPECT_NEAR(loudness(clip.samples) / loudness(expected), 1.0, 0.1);
    } else if (format == SoundFormat::Wav8) {
      ASSERT_EQ(clip.samples.size(), expected.size());
      for (std::size_t index = 0; index < expected.size(); ++index) {
        ASSERT_LE(std::abs(clip.samples[index] - expected[index]), 256) << index;
      }
    } else {
      EXPECT_EQ(clip.samples, expected);
    }
  }
}

TEST(ClipDecoder, HeadersTellTheLengthThatDecodingGives) {
  const test::TemporaryFolder folder;
  for (const SoundFormat format : test::all_sound_formats()) {
    for (const double seconds : {0.1, 0.77, 3.0}) {
      SCOPED_TRACE(std::string(test::name_of(format)) + " " + std::to_string(seconds));
      const auto path = folder / ("x" + std::string(test::extension_of(format)));
      test::write_sound(path, test::made_sound(seconds, 3, 16'000, 2), format);
      const auto header = read_audio_header(path);
      ASSERT_TRUE(std::holds_alternative<AudioHeader>(header));
      const DecodedClip clip = decoded(path);
      EXPECT_EQ(std::get<AudioHeader>(header).frames,
                static_cast<std::int64_t>(clip.samples.size()));
      EXPECT_EQ(std::get<AudioHeader>(header).sample_rate, clip.sample_rate);
      EXPECT_EQ(std::get<AudioHeader>(header).channels, 2);
    }
  }
}

}  // namespace
}  // namespace myxtts
