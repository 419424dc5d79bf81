// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpt_golden.h"
#include "support/golden.h"

// Each of the GPT's tensors changed by 1 % changes its outputs: none is read into the void.

namespace myxtts::test::gpt_tensors_matter_test {
namespace {

class GptTensorsMatter : public ::testing::Test {
 protected:
  // Latents and both sorts of logits, as one vector.
  at::Tensor outputs() const {
    const at::NoGradGuard no_grad;
    const auto latents = gpt_.conditioning(mels(golden_clips()));
    const auto logits = gpt_.logits(batch_, gpt_.states(batch_, latents));
    return at::cat({latents.flatten(), logits.text.flatten(), logits.audio.flatten()});
  }

  // How far the outputs move, relatively, when `part` of a weight grows by 1 %.
  double effect(at::Tensor part) const {
    const auto kept = part.clone();
    part.mul_(1.01);
    const double moved = relative_error(outputs(), before_);
    part.copy_(kept);
    return moved;
  }

  const GptConfig config_ = golden_gpt_config();
  const NamedTensors weights_ = golden_gpt_weights();
  const Gpt gpt_{config_, weights_};
  const GptBatch batch_ = to_batch(pack_rows(config_, views(golden_clips())), c10::kCPU);
  const at::Tensor before_ = outputs();
};

TEST_F(GptTensorsMatter, AChangeOfOnePercentInAnyOfThemIsSeen) {
  for (const auto& [name, weight] : weights_) {
    EXPECT_GE(effect(weight.detach()), 1e-5) << name;
  }
}

// A key's bias adds the same number to all of a query's scores, which the softmax takes out again.
// No tensor consists of key biases alone; these are the parts of tensors that do.
TEST_F(GptTensorsMatter, OnlyTheBiasesOfKeysDoNot) {
  const std::int64_t width = config_.width;
  const std::int64_t head = config_.head_width();
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    const auto& bias = weights_.at(fmt::format("gpt.gpt.h.{}.attn.c_attn.bias", layer)).detach();
    EXPECT_LE(effect(bias.narrow(0, width, width)), 1e-6) << "layer " << layer;
    EXPECT_GE(effect(bias.narrow(0, 0, width)), 1e-5) << "queries of layer " << layer;
    EXPECT_GE(effect(bias.narrow(0, 2 * width, width)), 1e-5) << "values of layer " << layer;
  }
  for (std::int64_t block = 0; block < config_.conditioning_blocks; ++block) {
    const auto name = fmt::format("gpt.conditioning_encoder.attn.{}.qkv.bias", block);
    const auto bias = weights_.at(name).detach().view({config_.heads, 3, head});
    EXPECT_LE(effect(bias.select(1, 1)), 1e-6) << name;
    EXPECT_GE(effect(bias.select(1, 0)), 1e-6) << name;
    EXPECT_GE(effect(bias.select(1, 2)), 1e-5) << name;
  }
}

}  // namespace
}  // namespace myxtts::test::gpt_tensors_matter_test
