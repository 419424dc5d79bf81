// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpt_golden.h"
#include "model/conditioning.h"
#include "model/gpt_specs.h"
#include "model/tensor_spec.h"
#include "support/adamw.h"
#include "support/golden.h"

// Every number of the GPT beside coqui-tts', fp32 on the CPU.

namespace myxtts::test::gpt_golden_test {
namespace {

constexpr double kForward = 2e-6;   // relative; fp32's own noise on these is about 5e-7
constexpr double kLoss = 1e-6;      // relative
constexpr double kGradient = 2e-5;  // relative, of each parameter
constexpr double kCurve = 1e-4;     // relative, at each step

class GptGolden : public ::testing::Test {
 protected:
  GptBatch batch(PromptMask mask = PromptMask::None) const {
    const auto clips = views(golden_clips());
    return to_batch(pack_rows(config_, clips, mask), c10::kCPU);
  }

  // The tokens of clip `i` among those of the batch: where its segment begins, how long it is.
  at::Tensor of_clip(const at::Tensor& tokens, std::size_t i) const {
    const auto rows = pack_rows(config_, views(golden_clips()));
    return tokens.narrow(0, rows.segment_ends[i], rows.lengths[i]);
  }

  // The entries of a tensor over text or audio targets that belong to clip `i`.
  static at::Tensor targets_of(const at::Tensor& values, const at::Tensor& clips, std::size_t i) {
    return values.index({clips.eq(static_cast<std::int64_t>(i))});
  }

  const at::Tensor& expected(const std::string& name) const { return golden_.at(name); }

  const GptConfig config_ = golden_gpt_config();
  const NamedTensors weights_ = golden_gpt_weights();
  const Gpt gpt_{config_, weights_};
  const GoldenTensors golden_ = read_golden("gpt.safetensors");
};

TEST_F(GptGolden, TheConditioningEncoderEqualsThePeers) {
  const TensorScope tensors(weights_, kGptPrefix);
  const ConditioningEncoder encoder(config_, tensors.part("conditioning_encoder"));
  EXPECT_LE(relative_error(encoder(mels(golden_clips())), expected("encoder")), kForward);
}

TEST_F(GptGolden, TheLatentsOfAPromptEqualThePeers) {
  EXPECT_LE(relative_error(gpt_.conditioning(mels(golden_clips())), expected("latents")), kForward);
}

TEST_F(GptGolden, EveryHiddenStateOfPackedRowsEqualsThePeersPaddedOnes) {
  const auto hidden = gpt_.hidden(batch(), gpt_.conditioning(mels(golden_clips())));
  for (std::size_t i = 0; i < golden_clips().size(); ++i) {
    EXPECT_LE(relative_error(of_clip(hidden, i), expected(fmt::format("hidden{}", i))), kForward)
        << "clip " << i;
  }
}

TEST_F(GptGolden, StatesAndLogitsEqualThePeersClipByClip) {
  const auto packed = batch();
  const auto states = gpt_.states(packed, gpt_.conditioning(mels(golden_clips())));
  const auto logits = gpt_.logits(packed, states);
  const auto clips = at::cat({packed.text_clips, packed.audio_clips});
  for (std::size_t i = 0; i < golden_clips().size(); ++i) {
    const auto check = [&](const at::Tensor& values, const at::Tensor& of, const char* name) {
      EXPECT_LE(relative_error(targets_of(values, of, i), expected(fmt::format("{}{}", name, i))),
                kForward)
          << name << i;
    };
    check(states, clips, "states");
    check(logits.text, packed.text_clips, "text_logits");
    check(logits.audio, packed.audio_clips, "audio_logits");
  }
}

TEST_F(GptGolden, TheLossesOfUnequalClipsEqualThePeers) {
  const auto losses = losses_of(gpt_, batch(), mels(golden_clips()));
  EXPECT_LE(relative_error(at::stack({losses.text, losses.audio}), expected("losses")), kLoss);
  EXPECT_NEAR(losses.total.item<double>(),
              0.01 * losses.text.item<double>() + losses.audio.item<double>(), 1e-6);
}

TEST_F(GptGolden, EachClipsOwnLossesEqualThePeersForThatClipAlone) {
  const auto packed = batch();
  const auto clips = clip_losses(packed, losses_of(gpt_, packed, mels(golden_clips())));
  EXPECT_LE(relative_error(at::stack({clips.text, clips.audio}, 1), expected("clip_losses")),
            kLoss);
}

TEST_F(GptGolden, ThePeersSlipInMaskingThePromptIsReproducedOnRequest) {
  const auto losses = losses_of(gpt_, batch(PromptMask::Peer), mels(golden_clips()));
  EXPECT_LE(relative_error(at::stack({losses.text, losses.audio}), expected("slip_losses")), kLoss);
}

TEST_F(GptGolden, TheIntendedMaskIgnoresTheCodesOfEachClipsPrompt) {
  const auto losses = losses_of(gpt_, batch(PromptMask::Clip), mels(golden_clips()));
  EXPECT_LE(relative_error(losses.audio, expected("intended_audio_loss")), kLoss);
}

TEST_F(GptGolden, TheDecodersInputEqualsThePeersLatentsPass) {
  const auto latents = gpt_.conditioning(mels(golden_clips()));
  std::vector<GoldenClip> clips = golden_clips();
  for (auto& clip : clips) {
    clip.codes.resize(std::min<std::size_t>(clip.codes.size(), 12));
    clip.codes.push_back(config_.stop_audio);
  }
  const auto packed = to_batch(pack_latent_rows(config_, views(clips)), c10::kCPU);
  const auto states = gpt_.states(packed, latents);
  for (std::size_t i = 0; i < clips.size(); ++i) {
    EXPECT_LE(relative_error(targets_of(states, packed.audio_clips, i),
                             expected(fmt::format("decoder_latents{}", i))),
              kForward)
        << "clip " << i;
  }
}

TEST_F(GptGolden, TheGradientOfEveryParameterEqualsThePeers) {
  losses_of(gpt_, batch(), mels(golden_clips())).total.backward();
  double global = 0.0;
  for (const auto& spec : gpt_specs(config_)) {
    global += std::pow(expected("grad." + spec.name).norm().item<double>(), 2);
  }
  global = std::sqrt(global);
  for (const auto& spec : gpt_specs(config_)) {
    const auto& wanted = expected("grad." + spec.name);
    const auto& found = weights_.at("gpt." + spec.name).grad();
    ASSERT_TRUE(found.defined()) << spec.name;
    const double allowed = kGradient * std::max(wanted.norm().item<double>(), 1e-6 * global);
    EXPECT_LE((found - wanted).norm().item<double>(), allowed) << spec.name;
  }
}

// Twenty steps of AdamW on the golden batch, with or without clipping: losses [20, 2] and norms
// [20].
std::pair<at::Tensor, at::Tensor> train(const GptConfig& config, double clip_norm) {
  const auto weights = golden_gpt_weights();
  const Gpt gpt(config, weights);
  AdamW optimiser(gpt_specs(config), weights, "gpt.", {.learning_rate = 1e-3});
  const auto packed = to_batch(pack_rows(config, views(golden_clips())), c10::kCPU);
  std::vector<at::Tensor> curve;
  std::vector<at::Tensor> norms;
  for (int step = 0; step < 20; ++step) {
    const auto losses = losses_of(gpt, packed, mels(golden_clips()));
    optimiser.clear_gradients();
    losses.total.backward();
    norms.push_back(optimiser.clip_gradients(clip_norm));
    optimiser.step();
    curve.push_back(at::stack({losses.text, losses.audio}).detach());
  }
  return {at::stack(curve), at::stack(norms)};
}

TEST_F(GptGolden, TwentyStepsOfAdamWFollowThePeersCurve) {
  const auto [curve, norms] = train(config_, std::numeric_limits<double>::infinity());
  const auto& wanted = expected("curve");
  EXPECT_LE(((curve - wanted) / wanted).abs().max().item<double>(), kCurve);
}

TEST_F(GptGolden, TwentyStepsWithClippedGradientsFollowThePeersCurve) {
  const auto [curve, norms] = train(config_, 1.0);
  const auto& wanted = expected("clipped_curve");
  EXPECT_LE(((curve - wanted) / wanted).abs().max().item<double>(), kCurve);
  EXPECT_LE(relative_error(norms, expected("clipped_norms")), kCurve);
}

}  // namespace
}  // namespace myxtts::test::gpt_golden_test
