// SPDX-License-Identifier: Apache-2.0
#include "model/gpt.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/model.h"
#include "model/gpt_batch.h"
#include "model/gpt_specs.h"
#include "model/named_tensors.h"
#include "support/golden.h"

namespace myxtts::test::grow_vocabulary_test {
namespace {

GptConfig config_with(std::int64_t text_ids) {
  GptConfig config = model_preset("tiny").gpt;
  config.text_ids = text_ids;
  return config;
}

NamedTensors new_gpt(const GptConfig& config) {
  NamedTensors weights;
  for (const auto& [name, tensor] : initialise(gpt_specs(config), 3)) {
    weights[kGptPrefix + name] = tensor;
  }
  return weights;
}

NamedTensors overlaid(NamedTensors weights, const NamedTensors& others) {
  for (const auto& [name, tensor] : others) weights[name] = tensor;
  return weights;
}

struct Outputs {
  at::Tensor states;  // [Nt + Na, D]
  GptLogits logits;
};

class GrowVocabulary : public ::testing::Test {
 protected:
  static constexpr std::int64_t kOldRows = 300;  // START of the preset is 261

  // Two clips of old ids, the first and the last of them included.
  Outputs outputs(const NamedTensors& weights) const {
    const at::NoGradGuard no_grad;
    const GptConfig config = config_with(weights.at("gpt.text_embedding.weight").size(0));
    const std::vector<std::int64_t> texts[] = {{0, 17, kOldRows - 1, 5, 100}, {1, 261, 44}};
    const std::vector<std::int64_t> codes[] = {{3, 9, 1, 0}, {7, 7, 2, 30, 11, 4}};
    const GptClip clips[] = {{.text = texts[0], .codes = codes[0]},
                             {.text = texts[1], .codes = codes[1]}};
    const GptBatch batch = to_batch(pack_rows(config, clips), c10::kCPU);
    const Gpt gpt(config, weights);
    const auto mel = at::arange(2 * 80 * 24).reshape({2, 80, 24}).to(at::kFloat).sin();
    const auto states = gpt.states(batch, gpt.conditioning(mel));
    return {.states = states, .logits = gpt.logits(batch, states)};
  }

  const NamedTensors weights_ = new_gpt(config_with(kOldRows));
  const std::vector<RowSources> new_rows_ = {{7}, {}, {20, 300}, {1, 2, 301}};
};

TEST_F(GrowVocabulary, OldTextsKeepTheirStatesAndCodeLogitsBitForBit) {
  const Outputs before = outputs(weights_);
  const Outputs after = outputs(overlaid(weights_, grow_vocabulary(weights_, new_rows_)));
  EXPECT_TRUE(at::equal(after.states, before.states));
  EXPECT_TRUE(at::equal(after.logits.audio, before.logits.audio));
}

// A product with more columns may add up in another order, so bits are compared with a product of
// the same width, and the old product to rounding.
TEST_F(GrowVocabulary, OldTokensKeepTheirTextLogits) {
  const NamedTensors grown = grow_vocabulary(weights_, new_rows_);
  NamedTensors blank = grown;
  for (auto& [name, tensor] : blank) {
    tensor = tensor.clone();
    tensor.narrow(0, 0, kOldRows).copy_(weights_.at(name));
    tensor.narrow(0, kOldRows, 4).zero_();
  }
  const auto old_logits = [&](const NamedTensors& others) {
    return outputs(overlaid(weights_, others)).logits.text.narrow(1, 0, kOldRows);
  };
  EXPECT_TRUE(at::equal(old_logits(grown), old_logits(blank)));
  EXPECT_LE(relative_error(old_logits(grown), outputs(weights_).logits.text), 1e-6);
}

TEST_F(GrowVocabulary, RowsInAnyOtherPlaceWouldBeSeen) {
  const Outputs before = outputs(weights_);
  NamedTensors shifted = grow_vocabulary(weights_, new_rows_);
  for (auto& [name, tensor] : shifted) tensor = tensor.roll({4}, {0});  // the new ones in front
  const Outputs after = outputs(overlaid(weights_, shifted));
  EXPECT_GE(relative_error(after.states, before.states), 1e-3);
  EXPECT_GE(relative_error(after.logits.audio, before.logits.audio), 1e-3);
  EXPECT_GE(relative_error(after.logits.text.narrow(1, 0, kOldRows), before.logits.text), 1e-3);
}

TEST_F(GrowVocabulary, EveryOldRowStaysAndEveryNewOneIsTheMeanOfItsSources) {
  const NamedTensors grown = grow_vocabulary(weights_, new_rows_);
  ASSERT_EQ(grown.size(), 3U);
  for (const auto& [name, tensor] : grown) {
    const auto& old = weights_.at(name);
    EXPECT_EQ(old.size(0), kOldRows) << name;
    ASSERT_EQ(tensor.size(0), kOldRows + 4) << name;
    EXPECT_TRUE(at::equal(tensor.narrow(0, 0, kOldRows), old)) << name;
    EXPECT_TRUE(at::equal(tensor[300], old[7])) << name;
    EXPECT_LE(relative_error(tensor[301], old.mean(0)), 1e-5) << name;
    EXPECT_LE(relative_error(tensor[302], (old[20] + old[7]) / 2), 1e-6) << name;
    EXPECT_LE(relative_error(tensor[303], (old[1] + old[2] + old.mean(0)) / 3), 1e-6) << name;
  }
}

TEST_F(GrowVocabulary, EveryTensorThatTheSpecsTieToTheVocabularyGrows) {
  const NamedTensors all = overlaid(weights_, grow_vocabulary(weights_, new_rows_));
  for (const TensorSpec& spec : gpt_specs(config_with(kOldRows + 4))) {
    EXPECT_EQ(all.at(kGptPrefix + spec.name).sizes(), spec.shape) << spec.name;
  }
}

TEST_F(GrowVocabulary, HalfPrecisionStaysAndItsMeansAreRoundedOnce) {
  NamedTensors half;
  for (const auto& [name, tensor] : weights_) half[name] = tensor.to(at::kBFloat16);
  const auto grown = grow_vocabulary(half, {{1, 2, 3, 4, 5, 6, 7}}).at("gpt.text_head.weight");
  ASSERT_EQ(grown.scalar_type(), at::kBFloat16);
  const auto exact = half.at("gpt.text_head.weight").narrow(0, 1, 7).to(at::kDouble).mean(0);
  EXPECT_TRUE(at::equal(grown[kOldRows], exact.to(at::kBFloat16)));
}

TEST_F(GrowVocabulary, ARowCannotStartFromItselfOrALaterOne) {
  EXPECT_THROW(grow_vocabulary(weights_, {{kOldRows}}), InternalError);
  EXPECT_THROW(grow_vocabulary(weights_, {{-1}}), InternalError);
}

}  // namespace
}  // namespace myxtts::test::grow_vocabulary_test
