// SPDX-License-Identifier: Apache-2.0
#include "clips/recording.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include "audio/audio_file.h"
#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts::test::recording_test {
namespace {

namespace fs = std::filesystem;

at::Tensor tone(std::int64_t samples, double step = 0.05) {
  return (0.5 * at::sin(at::arange(samples, at::kDouble) * step)).to(at::kFloat);
}

fs::path wav_of(const fs::path& path, const at::Tensor& sound, std::int64_t rate) {
  const auto plain = sound.contiguous();
  write_wav(path, {plain.const_data_ptr<float>(), static_cast<std::size_t>(plain.numel())}, rate);
  return path;
}

TEST(StreamResampler, GivesTheSamplesOfAllAtOnce) {
  for (const auto& [from, to] :
       {std::pair(44100, 22050), std::pair(48000, 22050), std::pair(22050, 16000),
        std::pair(8000, 22050), std::pair(44101, 22050), std::pair(16000, 16000)}) {
    const auto sound = tone(120'000) + tone(120'000, 0.31);
    const auto expected = Resampler(from, to, at::kCPU)(sound);
    StreamResampler resample(from, to);
    std::vector<at::Tensor> given;
    std::int64_t at = 0;
    for (std::int64_t size = 1; at < sound.size(0); size = size * 3 + 100) {
      const auto taken = std::min(size, sound.size(0) - at);
      given.push_back(resample.add(sound.narrow(0, at, taken)));
      at += taken;
    }
    given.push_back(resample.finish());
    const auto found = at::cat(given);
    ASSERT_EQ(found.size(0), expected.size(0)) << from << " to " << to;
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-6) << from << " to " << to;
  }
}

TEST(Recording, AnyPartOfItIsTheSoundOfTheFile) {
  const TemporaryFolder folder;
  const auto sound = tone(200'000);
  double heard = 0;
  const Recording recording(wav_of(folder / "a.wav", sound, kClipRate), folder.path(),
                            [&](double seconds) { heard += seconds; });
  EXPECT_EQ(recording.samples(), 200'000);
  EXPECT_NEAR(heard, recording.seconds(), 1e-6);
  const auto part = recording.sound(150'123, 150'987);
  EXPECT_LT((part - sound.slice(0, 150'123, 150'987)).abs().max().item<double>(), 1e-4);
  EXPECT_EQ(recording.sound(199'990, 300'000).size(0), 10);
  EXPECT_EQ(recording.sound(-5, 3).size(0), 3);
  EXPECT_TRUE(recording.damage().empty());
  int names = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) names += entry.is_regular_file();
  EXPECT_EQ(names, 1) << "its working file has no name";
}

TEST(Recording, ComesAtItsOwnRate) {
  const TemporaryFolder folder;
  const Recording recording(wav_of(folder / "a.wav", tone(96'000), 48'000), folder.path());
  EXPECT_EQ(recording.samples(), 44'100);
}

TEST(Recording, CountsSamplesAtFullScale) {
  const TemporaryFolder folder;
  auto sound = tone(22'050);
  sound.slice(0, 11'025, 11'135).fill_(1.0F);  // 5 ms at half a second
  const Recording recording(wav_of(folder / "a.wav", sound, kClipRate), folder.path());
  double sum = 0;
  for (const float share : recording.course().clipped) sum += share;
  EXPECT_NEAR(sum, 110 / 220.5, 0.01);
  EXPECT_GT(recording.course().clipped[50], 0.4F);
}

TEST(Recording, WhatComesBeforeADamagedPlaceIsUsed) {
  const TemporaryFolder folder;
  wav_of(folder / "whole.wav", tone(300'000), kClipRate);
  std::ifstream whole(folder / "whole.wav", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(whole)), std::istreambuf_iterator<char>());
  std::ofstream(folder / "cut.wav", std::ios::binary) << bytes.substr(0, 400'044);
  const Recording recording(folder / "cut.wav", folder.path());
  EXPECT_EQ(recording.samples(), 200'000);
  EXPECT_NE(recording.damage().find("was cut short: its header promises 200000 bytes more than "
                                    "there are. What comes before, 9.1 s, is used."),
            std::string::npos)
      << recording.damage();
  std::ofstream(folder / "short.wav", std::ios::binary) << bytes.substr(0, 4'044);
  EXPECT_THROW(Recording(folder / "short.wav", folder.path()), DataError);
}

TEST(Recording, AFolderThatCannotBeWrittenToIsNamed) {
  const TemporaryFolder folder;
  const auto wav = wav_of(folder / "a.wav", tone(1000), kClipRate);
  try {
    const Recording recording(wav, folder / "none");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("none cannot be written to"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace myxtts::test::recording_test
