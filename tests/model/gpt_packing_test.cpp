// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "gpt_golden.h"
#include "support/golden.h"

// What a clip's numbers may not depend on: the clips beside it, their order, the padding.

namespace myxtts::test::gpt_packing_test {
namespace {

constexpr double kSame = 1e-6;

class GptPacking : public ::testing::Test {
 protected:
  GptBatch pack(const std::vector<GoldenClip>& clips, const RowSizes& sizes = {}) const {
    return to_batch(pack_rows(config_, views(clips), PromptMask::None, sizes), c10::kCPU);
  }

  ClipLosses losses_by_clip(const std::vector<GoldenClip>& clips,
                            const RowSizes& sizes = {}) const {
    const auto batch = pack(clips, sizes);
    return clip_losses(batch, losses_of(gpt_, batch, mels(clips)));
  }

  const GptConfig config_ = golden_gpt_config();
  const NamedTensors weights_ = golden_gpt_weights();
  const Gpt gpt_{config_, weights_};
  const RowSizes padded_ = {.tokens = 256, .text_targets = 64, .audio_targets = 96, .longest = 128};
};

TEST_F(GptPacking, AnotherOrderGivesEachClipTheSameLosses) {
  std::vector<GoldenClip> reversed = golden_clips();
  std::ranges::reverse(reversed);
  const auto there = losses_by_clip(golden_clips());
  const auto back = losses_by_clip(reversed);
  EXPECT_LE(relative_error(back.text.flip(0), there.text), kSame);
  EXPECT_LE(relative_error(back.audio.flip(0), there.audio), kSame);
}

TEST_F(GptPacking, OtherCompanyGivesAClipTheSameLosses) {
  const auto& clips = golden_clips();
  const auto together = losses_by_clip(clips);
  for (std::size_t i = 0; i < clips.size(); ++i) {
    const auto alone = losses_by_clip({clips[i]});
    const auto pair = losses_by_clip({clips[(i + 1) % 3], clips[i]});
    const auto index = static_cast<std::int64_t>(i);
    EXPECT_LE(relative_error(alone.audio[0], together.audio[index]), kSame);
    EXPECT_LE(relative_error(pair.audio[1], together.audio[index]), kSame);
    EXPECT_LE(relative_error(pair.text[1], together.text[index]), kSame);
  }
}

TEST_F(GptPacking, PaddingOfTheTotalChangesNoLoss) {
  const auto batch = pack(golden_clips(), padded_);
  const auto exact = pack(golden_clips());
  const auto mel = mels(golden_clips());
  const auto padded_losses = losses_of(gpt_, batch, mel);
  const auto losses = losses_of(gpt_, exact, mel);
  EXPECT_LE(relative_error(padded_losses.text, losses.text), kSame);
  EXPECT_LE(relative_error(padded_losses.audio, losses.audio), kSame);
  EXPECT_LE(
      relative_error(clip_losses(batch, padded_losses).audio, clip_losses(exact, losses).audio),
      kSame);
}

TEST_F(GptPacking, PaddingOfTheTotalChangesNoGradient) {
  const auto mel = mels(golden_clips());
  losses_of(gpt_, pack(golden_clips()), mel).total.backward();
  const auto others = golden_gpt_weights();
  losses_of(Gpt(config_, others), pack(golden_clips(), padded_), mel).total.backward();
  for (const auto& [name, weight] : weights_) {
    EXPECT_LE(relative_error(others.at(name).grad(), weight.grad()), 2e-5) << name;
  }
}

TEST_F(GptPacking, NothingReachesAClipFromTheOneBeforeIt) {
  auto changed = golden_clips();
  changed[0].mel = changed[0].mel * 3.0;
  changed[0].text.assign(changed[0].text.size(), 7);
  const auto before = losses_by_clip(golden_clips());
  const auto after = losses_by_clip(changed);
  EXPECT_GE(max_abs_difference(after.audio[0], before.audio[0]), 1e-3) << "the change is seen";
  EXPECT_EQ(max_abs_difference(after.audio.slice(0, 1), before.audio.slice(0, 1)), 0.0);
}

TEST_F(GptPacking, ABatchWithoutCodeTargetsHasAFiniteLossAndGradient) {
  std::vector<GoldenClip> clips = {golden_clips()[2]};
  clips[0].prompt = {.first = 0, .last = 1'000'000};
  const auto batch = to_batch(pack_rows(config_, views(clips), PromptMask::Peer), c10::kCPU);
  const auto losses = losses_of(gpt_, batch, mels(clips));
  losses.total.backward();
  EXPECT_EQ(losses.audio.item<float>(), 0.0F);
  EXPECT_GT(losses.text.item<float>(), 0.0F);
  for (const auto& [name, weight] : weights_) {
    if (!weight.grad().defined()) continue;
    EXPECT_TRUE(at::isfinite(weight.grad()).all().item<bool>()) << name;
  }
}

TEST_F(GptPacking, DropoutFollowsTheGeneratorAndIsOffByDefault) {
  const auto batch = pack(golden_clips());
  const auto latents = gpt_.conditioning(mels(golden_clips()));
  const auto states = [&](std::uint64_t seed) {
    at::manual_seed(seed);
    return gpt_.states(batch, latents, kGptDropout);
  };
  EXPECT_EQ(max_abs_difference(states(1), states(1)), 0.0);
  EXPECT_GE(relative_error(states(1), states(2)), 0.05);
  EXPECT_EQ(max_abs_difference(gpt_.states(batch, latents), gpt_.states(batch, latents)), 0.0);
}

TEST_F(GptPacking, AMapOfBfloat16CopiesBuildsANetworkThatComputesInBfloat16) {
  NamedTensors copies;
  for (const auto& [name, weight] : weights_) {
    copies.emplace(name, weight.detach().to(at::kBFloat16).requires_grad_(true));
  }
  const Gpt half(config_, copies);
  const auto batch = pack(golden_clips());
  const auto mel = mels(golden_clips());
  EXPECT_EQ(half.conditioning(mel).scalar_type(), at::kBFloat16);
  const auto found = losses_of(half, batch, mel);
  const auto wanted = losses_of(gpt_, batch, mel);
  EXPECT_EQ(found.audio.scalar_type(), at::kFloat);
  EXPECT_LE(relative_error(found.text, wanted.text), 0.01);
  EXPECT_LE(relative_error(found.audio, wanted.audio), 0.01);
  found.total.backward();
  EXPECT_EQ(copies.at("gpt.text_head.weight").grad().scalar_type(), at::kBFloat16);
}

TEST_F(GptPacking, ANetworkSharesTheTensorsOfItsMap) {
  const auto batch = pack(golden_clips());
  const auto mel = mels(golden_clips());
  const auto before = losses_of(gpt_, batch, mel).audio.item<float>();
  {
    const at::NoGradGuard no_grad;
    weights_.at("gpt.mel_head.bias").data().select(0, 33).add_(5.0);
  }
  EXPECT_NE(losses_of(gpt_, batch, mel).audio.item<float>(), before);
}

}  // namespace
}  // namespace myxtts::test::gpt_packing_test
