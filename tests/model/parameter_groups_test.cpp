// SPDX-License-Identifier: Apache-2.0
#include "support/parameter_groups.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "config/model.h"
#include "model/gpt_specs.h"
#include "model/tensor_spec.h"

namespace myxtts::parameter_groups_test {
namespace {

using test::parameter_groups;

TEST(ParameterGroups, ThePublicSizeHasThePeersGroups) {
  const auto groups = parameter_groups(gpt_specs(model_preset("xtts-v2").gpt));
  EXPECT_EQ(groups.decayed.size(), 147u);
  EXPECT_EQ(groups.kept.size(), 279u);
}

TEST(ParameterGroups, ThePerceiversGainAndLatentsDecayButNoOtherNormAndNoEmbedding) {
  EXPECT_TRUE(decays("conditioning_perceiver.norm.gamma"));
  EXPECT_TRUE(decays("conditioning_perceiver.latents"));
  EXPECT_TRUE(decays("conditioning_encoder.attn.0.qkv.weight"));
  EXPECT_TRUE(decays("gpt.h.3.mlp.c_proj.weight"));
  EXPECT_TRUE(decays("text_head.weight"));
  EXPECT_FALSE(decays("conditioning_encoder.attn.0.norm.weight"));
  EXPECT_FALSE(decays("gpt.h.3.ln_2.weight"));
  EXPECT_FALSE(decays("gpt.ln_f.weight"));
  EXPECT_FALSE(decays("final_norm.weight"));
  EXPECT_FALSE(decays("text_embedding.weight"));
  EXPECT_FALSE(decays("mel_pos_embedding.emb.weight"));
  EXPECT_FALSE(decays("text_head.bias"));
}

TEST(ParameterGroups, NamesAreInByteOrderAsThePeerNumbersThem) {
  const auto groups = parameter_groups(gpt_specs(model_preset("xtts-v2").gpt));
  const auto ten = std::ranges::find(groups.decayed, "gpt.h.10.attn.c_attn.weight");
  const auto two = std::ranges::find(groups.decayed, "gpt.h.2.attn.c_attn.weight");
  EXPECT_LT(ten, two);
  EXPECT_TRUE(std::ranges::is_sorted(groups.kept));
}

}  // namespace
}  // namespace myxtts::parameter_groups_test
