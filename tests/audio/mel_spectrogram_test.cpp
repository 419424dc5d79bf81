// SPDX-License-Identifier: Apache-2.0
#include "audio/mel_spectrogram.h"

#include <cstdlib>
#include <filesystem>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/resample.h"
#include "support/formula_weights.h"
#include "support/golden.h"

namespace myxtts::test::mel_spectrogram_test {
namespace {

// The log of a band near silence turns a rounding error of its power into more.
constexpr double kLogTolerance = 2e-5;

at::Tensor speech() {
  const std::filesystem::path tests = std::getenv("MYXTTS_TEST_DATA");
  return read_clip(tests / "golden/audio/speech.wav", 22050).unsqueeze(0);
}

at::Tensor mel_stats() {
  return formula_values("mel_stats", {80}) * 0.5 + 2;
}

at::Tensor log_mel(const MelConfig& config, const at::Tensor& waveforms) {
  return normalised_log_mel(MelSpectrogram(config, at::kCPU)(waveforms), mel_stats());
}

TEST(MelSpectrogram, TheDvaesEqualsTheGolden) {
  const auto golden = read_golden("audio/mels.safetensors");
  EXPECT_LE(max_abs_difference(log_mel(dvae_mel_config(), speech()), golden.at("dvae")),
            kLogTolerance);
}

TEST(MelSpectrogram, TheConditioningEqualsTheGolden) {
  const auto golden = read_golden("audio/mels.safetensors");
  EXPECT_LE(
      max_abs_difference(log_mel(conditioning_mel_config(), speech()), golden.at("conditioning")),
      kLogTolerance);
}

TEST(MelSpectrogram, TheShortestClipsEqualTheGolden) {
  const auto golden = read_golden("audio/mels.safetensors");
  const auto noise = formula_values("short", {1, 1025}) * 0.5;
  EXPECT_LE(max_abs_difference(log_mel(dvae_mel_config(), noise.narrow(1, 0, 513)),
                               golden.at("short.dvae")),
            kLogTolerance);
  EXPECT_LE(max_abs_difference(log_mel(conditioning_mel_config(), noise),
                               golden.at("short.conditioning")),
            kLogTolerance);
}

TEST(MelSpectrogram, TheSpeechAt16kEqualsTheGolden) {
  const auto golden = read_golden("audio/mels.safetensors");
  EXPECT_LE(
      max_abs_difference(Resampler(22050, 16000, at::kCPU)(speech()), golden.at("speech_16k")),
      1e-6);
}

TEST(MelSpectrogram, FramesAreCountedAsTheyComeOut) {
  const MelSpectrogram mel(dvae_mel_config(), at::kCPU);
  for (const std::int64_t samples : {513, 767, 768, 769, 1024}) {
    EXPECT_EQ(mel(at::zeros({1, samples})).size(2), mel.frame_count(samples)) << samples;
    EXPECT_EQ(mel.frame_count(at::full({1}, samples, at::kLong)).item<std::int64_t>(),
              mel.frame_count(samples));
  }
}

// Every length meets another phase of the hop and another place of the reflection.
TEST(MelSpectrogram, PaddedRowsGetTheFramesTheyGetAlone) {
  for (const auto& config : {dvae_mel_config(), conditioning_mel_config()}) {
    const MelSpectrogram mel(config, at::kCPU);
    const std::vector<std::int64_t> lengths = {6000, 1025, 1279, 1280, 5119, 5120};
    // What stands behind a row's end is noise here: it must not matter.
    const auto batch = formula_values("padded", {6, 6000});
    const auto together = mel(batch, at::tensor(lengths));
    for (std::size_t row = 0; row < lengths.size(); ++row) {
      const auto index = static_cast<std::int64_t>(row);
      const auto alone = mel(batch.narrow(0, index, 1).narrow(1, 0, lengths[row]));
      const auto part = together.narrow(0, index, 1).narrow(2, 0, mel.frame_count(lengths[row]));
      EXPECT_LE(relative_error(part, alone), 1e-6) << lengths[row] << " samples";
    }
  }
}

}  // namespace
}  // namespace myxtts::test::mel_spectrogram_test
