// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "model/gpt.h"
#include "model/gpt_batch.h"
#include "model/gpt_specs.h"
#include "model/memory_estimate.h"
#include "model/named_tensors.h"

namespace myxtts::memory_of_a_step_test {
namespace {

std::int64_t bytes_in_use() {
  const auto heap = mallinfo2();
  return static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
}

struct Step {
  ModelConfig model = {};
  std::int64_t clips = 0;
  std::int64_t text = 0;
  std::int64_t codes = 0;
};

// What a forward pass keeps for the backward pass, measured.
std::int64_t kept_by(const Step& step, const GptBatch& batch, bool guided = false) {
  NamedTensors weights;
  for (const auto& [name, weight] : initialise(gpt_specs(step.model.gpt), 1)) {
    weights.emplace(kGptPrefix + name, weight.requires_grad_(true));
  }
  const Gpt gpt(step.model.gpt, weights);
  const auto mel = at::randn({step.clips, step.model.gpt.mel_bands, 517});
  const std::int64_t before = bytes_in_use();
  GuideSums guide;
  const auto states =
      gpt.states(batch, gpt.conditioning(mel), /*dropout=*/0.1, guided ? &guide : nullptr);
  const auto losses = gpt_losses(batch, gpt.logits(batch, states));
  return bytes_in_use() - before;
}

GptBatch batch_of(const Step& step) {
  const std::vector<std::int64_t> text(static_cast<std::size_t>(step.text), 7);
  const std::vector<std::int64_t> codes(static_cast<std::size_t>(step.codes), 5);
  const std::vector<GptClip> clips(static_cast<std::size_t>(step.clips),
                                   {.text = text, .codes = codes});
  return to_batch(pack_rows(step.model.gpt, clips), c10::kCPU);
}

TrainingMemory estimate_of(const Step& step, const GptBatch& batch, bool guided = false) {
  const BatchShape shape{.clips = step.clips,
                         .tokens = batch.tokens.size(0),
                         .text_targets = batch.text_targets.size(0),
                         .audio_targets = batch.audio_targets.size(0)};
  return training_memory(step.model, shape,
                         {.precision = Precision::Fp32, .cpu = true, .guided = guided});
}

void expect_estimate_near(const Step& step) {
  const auto batch = batch_of(step);
  const auto estimate = estimate_of(step, batch);
  const auto activations =
      static_cast<double>(estimate.layers + estimate.conditioning + estimate.heads);
  const auto kept = static_cast<double>(kept_by(step, batch));
  EXPECT_GT(activations / kept, 0.9);
  EXPECT_LT(activations / kept, 1.25);
}

TEST(MemoryOfAStep, AForwardPassKeepsWhatTheEstimateSays) {
  Step step{.model = model_preset("tiny"), .clips = 2, .text = 60, .codes = 100};
  expect_estimate_near(step);
  step.model.gpt.layers = 12;  // the layers' share grows
  expect_estimate_near(step);
  step.codes = 400;  // long rows: attention's probabilities weigh more
  expect_estimate_near(step);
  step.model.gpt.width = 256;  // wider rows
  expect_estimate_near(step);
}

void expect_guide_near(const Step& step) {
  const auto batch = batch_of(step);
  kept_by(step, batch);  // what libraries take at first is not taken again
  const auto more = static_cast<double>(kept_by(step, batch, /*guided=*/true) -
                                        kept_by(step, batch, /*guided=*/false));
  const auto estimate = static_cast<double>(estimate_of(step, batch, /*guided=*/true).guide);
  EXPECT_GT(estimate / more, 0.8);
  EXPECT_LT(estimate / more, 1.25);
}

TEST(MemoryOfAStep, TheTextGuideKeepsWhatTheEstimateSays) {
  Step step{.model = model_preset("tiny"), .clips = 3, .text = 120, .codes = 300};
  expect_guide_near(step);
  step.clips = 8;
  expect_guide_near(step);
  step.codes = 500;
  expect_guide_near(step);
}

}  // namespace
}  // namespace myxtts::memory_of_a_step_test
