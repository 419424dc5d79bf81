// SPDX-License-Identifier: Apache-2.0
#include "pipeline/clip_features.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/phase_filter.h"
#include "config/model.h"
#include "model/network_specs.h"
#include "support/formula_weights.h"
#include "support/small_networks.h"

namespace myxtts::clip_features_test {
namespace {

constexpr std::int64_t kRow = 1024;  // frames: several clips fit

// A voice of its own for every seed.
ClipSound sound(std::int64_t samples, std::int64_t seed, std::int64_t rate = ClipFeatures::kRate) {
  const auto time = at::arange(samples, at::kFloat) / static_cast<double>(rate);
  const auto pitch = 90.0 + 13.0 * static_cast<double>(seed);
  auto wave = at::sin(time * (2 * M_PI * pitch)) + at::sin(time * (7 * M_PI * pitch)) * 0.4;
  wave = wave * at::sin(time * (3.0 + static_cast<double>(seed))).abs();
  return {.samples = (wave * 9000).round().to(at::kShort), .rate = rate};
}

class ClipFeaturesTest : public ::testing::Test {
 protected:
  ClipFeatures features(std::int64_t row_frames = 0) {
    return {dvae_, mel_stats_, at::kCPU, row_frames};
  }

  // Straight from the networks, without rows.
  at::Tensor codes_alone(const at::Tensor& wave) {
    const MelSpectrogram mel(dvae_mel_config(), at::kCPU);
    const auto z = dvae_.encode(normalised_log_mel(mel(wave.unsqueeze(0)), mel_stats_));
    return dvae_.quantise(z).squeeze(0).narrow(0, 0, ClipFeatures::code_count(wave.size(0)));
  }

  const Dvae dvae_{test::small_dvae(), test::formula_weights(dvae_specs(test::small_dvae()), "c")};
  const at::Tensor mel_stats_ = at::linspace(1.0, 2.0, 80);
};

TEST_F(ClipFeaturesTest, CodesAreThoseOfTheNetworksOnTheClipAlone) {
  for (const std::int64_t samples : {513, 1024, 1025, 20'480, 33'333}) {
    const auto clip = sound(samples, samples % 7);
    const auto expected = codes_alone(clip.samples.to(at::kFloat) / 32768);
    for (const std::int64_t row : {std::int64_t{0}, kRow}) {
      const auto found = features(row).encode({&clip, 1}).front();
      EXPECT_EQ(found.codes.size(0), (samples + 1023) / 1024);
      EXPECT_TRUE(at::equal(found.codes, expected)) << samples << " samples, row " << row;
    }
  }
  const auto one = codes_alone(sound(33'333, 1).samples.to(at::kFloat) / 32768);
  EXPECT_FALSE(at::equal(one, codes_alone(sound(33'333, 2).samples.to(at::kFloat) / 32768)))
      << "voices that sound alike prove nothing";
}

TEST_F(ClipFeaturesTest, CodesDoNotDependOnTheClipsBesideThem) {
  std::vector<ClipSound> clips;
  for (const std::int64_t samples : {40'000, 5'000, 61'440, 1'023, 90'000, 22'050, 51'200}) {
    clips.push_back(sound(samples, static_cast<std::int64_t>(clips.size())));
  }
  auto packed = features(kRow);
  const auto together = packed.encode(clips);
  const std::vector<ClipSound> backwards(clips.rbegin(), clips.rend());
  const auto turned = packed.encode(backwards);
  for (std::size_t clip = 0; clip < clips.size(); ++clip) {
    const auto alone = packed.encode({&clips[clip], 1}).front().codes;
    EXPECT_TRUE(at::equal(together[clip].codes, alone)) << "clip " << clip;
    EXPECT_TRUE(at::equal(turned[clips.size() - 1 - clip].codes, alone)) << "clip " << clip;
  }
}

TEST_F(ClipFeaturesTest, AClipThatFillsItsRowUpToTheGapIsStillRight) {
  const auto frames = kRow - 4;
  const auto clip = sound((frames - 1) * 256, 3);
  const auto expected = codes_alone(clip.samples.to(at::kFloat) / 32768);
  EXPECT_TRUE(at::equal(features(kRow).encode({&clip, 1}).front().codes, expected));
  const auto longer = sound(frames * 256, 3);
  EXPECT_ANY_THROW((void)features(kRow).encode({&longer, 1}));
}

TEST_F(ClipFeaturesTest, SoundOfAnotherRateIsResampledClippedAndKeptIn16Bits) {
  for (const std::int64_t rate : {16'000, 24'000, 44'100, 48'000}) {
    auto clip = sound(rate, 4, rate);
    clip.samples.narrow(0, 500, 300).fill_(32'767);  // overshoots when it is resampled
    clip.samples.narrow(0, 800, 300).fill_(-32'768);
    const auto wave =
        Resampler(rate, ClipFeatures::kRate, at::kCPU)(clip.samples.to(at::kFloat) / 32768)
            .clamp(-1, 1);
    auto own = features();
    const auto found = own.encode({&clip, 1}).front();
    EXPECT_EQ(found.samples.size(0), resampled_length(rate, rate, ClipFeatures::kRate));
    EXPECT_TRUE(at::equal(found.codes, codes_alone(wave))) << rate;
    EXPECT_TRUE(at::equal(found.samples, own.load({&clip, 1}).front().samples)) << rate;
    EXPECT_EQ(found.samples.max().item<std::int64_t>(), 32'767);
    EXPECT_LE((found.samples.to(at::kFloat) / 32768 - wave).abs().max().item<double>(),
              1.0 / 32768);
  }
}

TEST_F(ClipFeaturesTest, SoundOfTheRightRateIsKeptAsItIs) {
  const auto clip = sound(30'000, 5);
  auto own = features();
  EXPECT_TRUE(at::equal(own.load({&clip, 1}).front().samples, clip.samples));
  EXPECT_TRUE(at::equal(own.encode({&clip, 1}).front().samples, clip.samples));
}

}  // namespace
}  // namespace myxtts::clip_features_test
