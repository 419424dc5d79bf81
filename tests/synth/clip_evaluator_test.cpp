// SPDX-License-Identifier: Apache-2.0
#include "synth/clip_evaluator.h"

#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "audio/resample.h"
#include "model/gpt_specs.h"
#include "model/network_specs.h"
#include "support/formula_weights.h"
#include "support/golden.h"
#include "support/small_networks.h"
#include "support/temporary_folder.h"

namespace myxtts::test::clip_evaluator_test {
namespace {

// What tests/golden/make_evaluate.py gave the peer.
struct GoldenClip {
  std::int64_t samples;
  std::int64_t rate;
  std::int64_t tokens;
};
constexpr GoldenClip kClips[] = {
    {24'000, 22'050, 12}, {20 * 1024, 22'050, 1}, {144'000, 22'050, 30}, {30'000, 16'000, 7}};

OpenModel golden_model(const GoldenTensors& golden) {
  OpenModel model;
  auto& gpt = model.config.gpt;
  gpt.layers = 2;
  gpt.width = 24;
  gpt.heads = 3;
  gpt.max_text_tokens = 30;
  gpt.max_audio_tokens = 200;
  gpt.text_ids = 37;
  gpt.start_text = 35;
  gpt.audio_ids = 66;
  gpt.start_audio = 64;
  gpt.stop_audio = 65;
  model.config.dvae = small_dvae();
  for (const auto& [name, tensor] : formula_weights(gpt_specs(gpt), "gpt/")) {
    model.model.emplace(kGptPrefix + name, tensor.dim() > 1 ? tensor * 0.5 : tensor);
  }
  model.model.emplace("mel_stats", formula_values("mel_stats", {80}) * 0.25 + 2.0);
  model.dvae = formula_weights(dvae_specs(model.config.dvae), "dvae/");
  model.dvae.at("encoder.4.bias") = golden.at("encoder.4.bias");
  return model;
}

std::vector<std::int64_t> golden_text(std::size_t number) {
  const auto values = formula_values("text" + std::to_string(number), {kClips[number].tokens});
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    const double share = (static_cast<double>(values.const_data_ptr<float>()[i]) + 1.0) / 2.0;
    ids.push_back(1 + static_cast<std::int64_t>(std::floor(share * 34.0)));
  }
  return ids;
}

// The golden speech over and over, written and read as a user's file.
at::Tensor golden_sound(const GoldenClip& clip) {
  const TemporaryFolder folder;
  const auto data = std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/audio/speech.wav";
  const auto speech = read_audio(data).samples;
  std::vector<float> samples;
  for (std::int64_t i = 0; i < clip.samples; ++i) {
    samples.push_back(speech[static_cast<std::size_t>(i) % speech.size()]);
  }
  write_wav(folder / "clip.wav", samples, clip.rate);
  return read_clip(folder / "clip.wav", 22'050);
}

PromptSpan evaluation_span(std::int64_t samples) {
  return {.first = 0, .last = samples < 99'225 ? samples / 2 : 99'225};
}

ClipScore score_of(const ClipEvaluator& evaluator, std::size_t number) {
  const auto sound = golden_sound(kClips[number]);
  return evaluator(sound, evaluation_span(sound.size(0)), golden_text(number));
}

TEST(ClipEvaluator, AgreesWithThePeersEvaluationToOneInAHundredThousand) {
  const auto golden = read_golden("evaluate.safetensors");
  const ClipEvaluator evaluator(golden_model(golden), at::kCPU);
  for (std::size_t number = 0; number < std::size(kClips); ++number) {
    const auto score = score_of(evaluator, number);
    const auto expected = golden.at("clip" + std::to_string(number) + ".losses");
    const auto text = expected[0].item<double>();
    const auto audio = expected[1].item<double>();
    EXPECT_NEAR(score.text / text, 1.0, 1e-5) << number;
    EXPECT_NEAR(score.audio / audio, 1.0, 1e-5) << number;
    EXPECT_EQ(score.text_targets, kClips[number].tokens + 1);
  }
}

TEST(ClipEvaluator, ThePromptMatters) {
  const auto golden = read_golden("evaluate.safetensors");
  const ClipEvaluator evaluator(golden_model(golden), at::kCPU);
  const auto sound = golden_sound(kClips[2]);
  const auto text = golden_text(2);
  const auto first = evaluator(sound, {.first = 0, .last = 99'225}, text);
  const auto other = evaluator(sound, {.first = 5'000, .last = 60'000}, text);
  EXPECT_GT(std::abs(first.audio / other.audio - 1.0), 1e-4);
}

TEST(ScoreSum, TellsTheMeanOverTokensFromTheMeanOverClips) {
  ScoreSum sum;
  EXPECT_EQ(sum.over_tokens().audio, 0.0);
  sum.add({.text = 1.0, .audio = 2.0, .text_targets = 10, .audio_targets = 100});
  sum.add({.text = 4.0, .audio = 5.0, .text_targets = 20, .audio_targets = 50});
  EXPECT_EQ(sum.clips(), 2);
  EXPECT_DOUBLE_EQ(sum.over_tokens().text, 3.0);
  EXPECT_DOUBLE_EQ(sum.over_tokens().audio, 3.0);
  EXPECT_DOUBLE_EQ(sum.over_clips().text, 2.5);
  EXPECT_DOUBLE_EQ(sum.over_clips().audio, 3.5);
  EXPECT_EQ(sum.over_tokens().audio_targets, 150);
}

}  // namespace
}  // namespace myxtts::test::clip_evaluator_test
