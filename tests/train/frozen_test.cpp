// SPDX-License-Identifier: Apache-2.0
#include "train/frozen.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::frozen_test {
namespace {

const std::vector<std::string> kNames = {"gpt.text_embedding.weight", "gpt.text_head.weight",
                                         "gpt.text_head.bias", "gpt.gpt.h.0.ln_1.weight",
                                         "gpt.gpt.h.10.ln_1.weight"};

TEST(Frozen, AStarStandsForAnyCharactersAndNothingElseDoes) {
  EXPECT_TRUE(fits_pattern("gpt.text_head.bias", "gpt.text_head.bias"));
  EXPECT_TRUE(fits_pattern("gpt.text_head.bias", "gpt.*"));
  EXPECT_TRUE(fits_pattern("gpt.text_head.bias", "*bias"));
  EXPECT_TRUE(fits_pattern("gpt.text_head.bias", "*.text_*.b*s"));
  EXPECT_TRUE(fits_pattern("gpt.text_head.bias", "gpt.text_head.bias*"));
  EXPECT_TRUE(fits_pattern("abcabd", "*abd"));  // the first abc must not end the search
  EXPECT_FALSE(fits_pattern("gpt.text_head.bias", "gpt.text_head"));
  EXPECT_FALSE(fits_pattern("gptXtext_head.bias", "gpt.text_head.bias"));
  EXPECT_FALSE(fits_pattern("gpt.text_head.bias", "*weight"));
  EXPECT_FALSE(fits_pattern("", "?"));
}

TEST(Frozen, EveryNameThatAPatternFitsIsFrozen) {
  EXPECT_EQ(frozen_names(kNames, {}).size(), 0U);
  const std::vector<std::string> patterns = {"gpt.text_head.*", "*h.0.*"};
  EXPECT_EQ(frozen_names(kNames, patterns),
            (std::set<std::string, std::less<>>{"gpt.text_head.weight", "gpt.text_head.bias",
                                                "gpt.gpt.h.0.ln_1.weight"}));
}

std::string refusal(const std::string& pattern) {
  try {
    frozen_names(kNames, std::vector<std::string>{pattern});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Frozen, APatternThatFitsNothingNamesWhatWasMeant) {
  EXPECT_EQ(refusal("gpt.text_embeding.*"),
            "--freeze gpt.text_embeding.* fits no parameter of this model. Did you mean "
            "gpt.text_embedding.*?");
  EXPECT_EQ(refusal("gpt.text_head.wieght"),
            "--freeze gpt.text_head.wieght fits no parameter of this model. Did you mean "
            "gpt.text_head.weight?");
  EXPECT_EQ(refusal("dvae.*"),
            "--freeze dvae.* fits no parameter of this model. Their names are like "
            "gpt.text_embedding.weight; * stands for any characters.");
}

TEST(Frozen, SomethingMustBeLeftToTrain) {
  EXPECT_EQ(refusal("*"), "--freeze leaves nothing to train. Name fewer parameters.");
}

}  // namespace
}  // namespace myxtts::frozen_test
