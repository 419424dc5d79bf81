// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "base/error.h"
#include "support/temporary_folder.h"
#include "synth/sound_seams.h"
#include "synth/sound_writer.h"

namespace myxtts::sound_test {
namespace {

std::vector<float> tone(std::size_t count) {
  std::vector<float> samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    samples[i] = static_cast<float>(0.5 * std::sin(0.05 * static_cast<double>(i)));
  }
  return samples;
}

TEST(SoundWriter, WritesEveryFormatInSeveralGoes) {
  const test::TemporaryFolder folder;
  const auto samples = tone(30'000);
  for (const char* name : {"a.wav", "a.flac", "a.OGG"}) {
    const auto writer = open_sound_writer(folder / name, 24'000, Appears::Whole);
    writer->write(std::span(samples).first(10'001));
    writer->write(std::span(samples).subspan(10'001));
    EXPECT_FALSE(std::filesystem::exists(folder / name)) << "seen before it was whole";
    writer->finish();
    const auto read = read_audio(folder / name);
    EXPECT_EQ(read.sample_rate, 24'000);
    ASSERT_EQ(read.samples.size(), samples.size()) << name;
    double worst = 0.0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(read.samples[i]) - samples[i]));
    }
    EXPECT_LT(worst, std::string(name) == "a.OGG" ? 0.1 : 4e-5) << name;
  }
}

TEST(SoundWriter, WhatTheLibraryWasBuiltWithIsWrittenAndTheRestRefusedBefore) {
  const test::TemporaryFolder folder;
  const auto samples = tone(30'000);
  for (const char* name : {"a.opus", "a.mp3"}) {
    try {
      check_sound_output(folder / name);
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("libsndfile"), std::string::npos) << error.what();
      continue;
    }
    const auto writer = open_sound_writer(folder / name, 24'000, Appears::Whole);
    writer->write(samples);
    writer->finish();
    const auto read = read_audio(folder / name);
    EXPECT_NEAR(static_cast<double>(read.frames()) / static_cast<double>(read.sample_rate),
                30'000 / 24'000.0, 0.1)
        << name;
  }
}

TEST(SoundWriter, LoudSamplesAreClippedAndDoNotWrapAround) {
  const test::TemporaryFolder folder;
  const auto writer = open_sound_writer(folder / "a.wav", 24'000, Appears::Whole);
  writer->write(std::vector<float>{1.5F, -1.5F});
  writer->finish();
  const auto read = read_audio(folder / "a.wav");
  EXPECT_GT(read.samples[0], 0.99F);
  EXPECT_LT(read.samples[1], -0.99F);
}

TEST(SoundWriter, AGrowingWavIsValidWithoutItsEnd) {
  const test::TemporaryFolder folder;
  const auto samples = tone(5000);
  const auto writer = open_sound_writer(folder / "a.wav", 24'000, Appears::Growing);
  writer->write(samples);
  EXPECT_EQ(read_audio(folder / "a.wav").samples.size(), 5000U);
  writer->write(samples);
  EXPECT_EQ(read_audio(folder / "a.wav").samples.size(), 10'000U);
}

TEST(SoundWriter, AnUnfinishedFileLeavesNothing) {
  const test::TemporaryFolder folder;
  { open_sound_writer(folder / "a.wav", 24'000, Appears::Whole)->write(tone(100)); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SoundWriter, SaysWhatItCannotWrite) {
  EXPECT_THROW(check_sound_output("a.mp4"), ConfigError);
  EXPECT_THROW(check_sound_output("a"), ConfigError);
  EXPECT_NO_THROW(check_sound_output("a.Flac"));
  try {
    check_sound_output("a.m4a");
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find(".wav, .flac, .ogg"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(open_sound_writer("/nowhere/at/all/a.wav", 24'000, Appears::Whole), DataError);
}

TEST(Seam, EndsAtNothingAndChangesNothingElse) {
  std::vector<float> before(1000, 0.8F);
  std::vector<float> after(1000, -0.8F);
  fade_out(before, 120);
  fade_in(after, 120);
  EXPECT_EQ(before.back(), 0.0F);
  EXPECT_EQ(after.front(), 0.0F);
  for (std::size_t i = 0; i < 880; ++i) EXPECT_EQ(before[i], 0.8F);
  for (std::size_t i = 120; i < 1000; ++i) EXPECT_EQ(after[i], -0.8F);
  for (std::size_t i = 1; i < 1000; ++i) EXPECT_LT(std::abs(after[i] - after[i - 1]), 0.015F);
}

TEST(Seam, ShortPiecesAreFadedWhole) {
  std::vector<float> samples(10, 1.0F);
  fade_in(samples, 120);
  fade_out(samples, 120);
  EXPECT_EQ(samples.front(), 0.0F);
  EXPECT_EQ(samples.back(), 0.0F);
  std::vector<float> none;
  fade_in(none, 120);
  fade_out(none, 120);
}

}  // namespace
}  // namespace myxtts::sound_test
