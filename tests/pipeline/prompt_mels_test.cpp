// SPDX-License-Identifier: Apache-2.0
#include "pipeline/clip_features.h"

#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/mel_spectrogram.h"
#include "config/model.h"

namespace myxtts::prompt_mels_test {
namespace {

// A voice of its own for every seed.
at::Tensor sound(std::int64_t samples, std::int64_t seed) {
  const auto time = at::arange(samples, at::kFloat) / 22'050.0;
  const auto pitch = 90.0 + 13.0 * static_cast<double>(seed);
  const auto wave = at::sin(time * (2 * M_PI * pitch)) + at::sin(time * (7 * M_PI * pitch)) * 0.4;
  return (wave * 9000).round().to(at::kShort);
}

at::Tensor made(const std::vector<at::Tensor>& prompts, std::int64_t rows) {
  const PromptMels mels(at::linspace(1.0, 2.0, 80), at::kCPU);
  auto out = at::full({rows, mels.bands(), mels.frames()}, 7.0);
  mels.make(prompts, out, {});
  return out;
}

TEST(PromptMels, AreTheSpectrogramsOfPromptsPaddedToSixSeconds) {
  const std::vector<at::Tensor> prompts = {sound(132'300, 1), sound(70'000, 2), sound(9'000, 3)};
  const auto mel = made(prompts, 3);
  ASSERT_EQ(mel.sizes(), (std::vector<std::int64_t>{3, 80, 517}));
  const MelSpectrogram spectrogram(conditioning_mel_config(), at::kCPU);
  for (std::int64_t row = 0; row < 3; ++row) {
    const auto& prompt = prompts[static_cast<std::size_t>(row)];
    auto padded = at::zeros({1, 132'300});
    padded[0].narrow(0, 0, prompt.size(0)).copy_(prompt.to(at::kFloat) / 32768);
    EXPECT_TRUE(at::equal(
        mel[row], normalised_log_mel(spectrogram(padded), at::linspace(1.0, 2.0, 80)).squeeze(0)));
  }
}

TEST(PromptMels, ARowDoesNotDependOnTheOthersAndRowsWithoutAPromptAreSilence) {
  std::vector<at::Tensor> prompts;
  for (std::int64_t row = 0; row < 11; ++row) prompts.push_back(sound(60'000 + 5'000 * row, row));
  const auto mel = made(prompts, 13);
  for (const std::size_t row : {0U, 7U, 8U, 10U}) {
    EXPECT_TRUE(at::equal(made({prompts[row]}, 1)[0], mel[static_cast<std::int64_t>(row)])) << row;
  }
  const auto silence = (at::full({80}, std::log(1e-5F)) / at::linspace(1.0, 2.0, 80)).unsqueeze(1);
  EXPECT_TRUE(at::allclose(mel[12], silence.expand({80, 517})));
}

}  // namespace
}  // namespace myxtts::prompt_mels_test
