// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/mel_spectrogram.h"
#include "base/random.h"
#include "config/model.h"
#include "device/cuda_plugin.h"
#include "pipeline/clip_features.h"

// The kernel against the plain expression, and both against the same in twice the precision.

namespace myxtts::prompt_mels_cuda_test {
namespace {

const c10::Device kGpu{c10::kCUDA, 0};

class PromptMelsCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_plugin().backend == nullptr) {
      GTEST_SKIP() << "no CUDA device here: " << cuda_plugin().reason;
    }
  }
};

// Noise with a hum, louder and softer.
at::Tensor sound(std::int64_t samples, std::uint64_t seed) {
  const RandomStream random(seed, "sound");
  const auto time = at::arange(samples, at::kFloat) / 22'050.0;
  auto wave = at::sin(time * (700.0 + 90.0 * static_cast<double>(seed))) * 6000;
  for (std::int64_t i = 0; i < samples; i += 3) {
    wave[i] += 900 * random.normal(static_cast<std::uint64_t>(i));
  }
  return (wave * at::sin(time * 3.0)).round().to(at::kShort);
}

at::Tensor in_double(const at::Tensor& prompt, const at::Tensor& mel_stats) {
  const MelConfig mel = conditioning_mel_config();
  auto padded = at::zeros({1, PromptMels::kSamples}, at::kDouble);
  padded[0].narrow(0, 0, prompt.size(0)).copy_(prompt).div_(32768);
  const auto spectrum =
      at::stft(padded, mel.fft_size, mel.hop, mel.window, mel_window(mel).to(at::kDouble), true,
               "reflect", false, true, true);
  const auto power =
      spectrum.abs().square().transpose(1, 2).matmul(mel_filters(mel).to(at::kDouble));
  return (power.clamp_min(1e-5).log() / mel_stats.to(at::kDouble)).transpose(1, 2).squeeze(0);
}

TEST_F(PromptMelsCuda, TheKernelIsAsCloseToTheTruthAsThePlainExpression) {
  const auto mel_stats = at::linspace(1.0, 2.0, 80);
  const std::vector<std::int64_t> lengths = {132'300, 66'150, 99'999, 5'000, 600, 1};
  std::vector<at::Tensor> here;
  std::vector<at::Tensor> prompts;
  for (const auto length : lengths) {
    here.push_back(sound(length, static_cast<std::uint64_t>(length)));
    prompts.push_back(here.back().to(kGpu));
  }
  const PromptMels mels(mel_stats.to(kGpu), kGpu);
  const auto rows = static_cast<std::int64_t>(lengths.size()) + 2;
  auto fused = at::full({rows, 80, mels.frames()}, 9.0, at::TensorOptions(kGpu).dtype(at::kFloat));
  auto plain = fused.clone();
  mels.make(prompts, fused, {.gpu = 0});
  mels.make_reference(prompts, plain);
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    const auto truth = in_double(here[row], mel_stats);
    const auto error = [&](const at::Tensor& mel) {
      return (mel[static_cast<std::int64_t>(row)].cpu().to(at::kDouble) - truth).abs();
    };
    EXPECT_LT(error(fused).max().item<double>(), 2 * error(plain).max().item<double>() + 1e-5)
        << lengths[row];
    EXPECT_LT(error(fused).mean().item<double>(), 1e-5) << lengths[row];
  }
  EXPECT_TRUE(at::allclose(fused.narrow(0, rows - 2, 2), plain.narrow(0, rows - 2, 2)));
}

TEST_F(PromptMelsCuda, ARowHasTheSameBitsInAnyCompany) {
  const PromptMels mels(at::ones({80}).to(kGpu), kGpu);
  std::vector<at::Tensor> prompts;
  for (std::int64_t row = 0; row < 70; ++row) {  // more than one launch
    prompts.push_back(sound(1'000 + 100 * row, static_cast<std::uint64_t>(row)).to(kGpu));
  }
  auto all = at::zeros({70, 80, mels.frames()}, at::TensorOptions(kGpu).dtype(at::kFloat));
  mels.make(prompts, all, {.gpu = 0});
  for (const std::int64_t row : {0, 1, 63, 64, 69}) {
    auto alone = at::zeros({1, 80, mels.frames()}, all.options());
    mels.make({&prompts[static_cast<std::size_t>(row)], 1}, alone, {.gpu = 0});
    EXPECT_TRUE(at::equal(alone[0], all[row])) << row;
  }
}

}  // namespace
}  // namespace myxtts::prompt_mels_cuda_test
