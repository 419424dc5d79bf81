// SPDX-License-Identifier: Apache-2.0
#include "model/gpt_specs.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "model/tensor_spec.h"

namespace myxtts::gpt_specs_test {
namespace {

const TensorSpec& find(const TensorSpecs& specs, const std::string& name) {
  const auto found = std::ranges::find(specs, name, &TensorSpec::name);
  if (found == specs.end()) throw std::out_of_range(name);
  return *found;
}

TEST(GptSpecs, ThePublicSizeHasThePublicCheckpointsTensorsAndParameters) {
  const TensorSpecs specs = gpt_specs(model_preset("xtts-v2").gpt);
  EXPECT_EQ(specs.size(), 426u);
  EXPECT_EQ(parameter_count(specs), 441'018'563);
}

TEST(GptSpecs, ThePresetsHaveTheseManyParameters) {
  EXPECT_EQ(parameter_count(gpt_specs(model_preset("tiny").gpt)), 3'906'671);
  EXPECT_EQ(parameter_count(gpt_specs(model_preset("small").gpt)), 27'652'379);
  EXPECT_EQ(parameter_count(gpt_specs(model_preset("normal").gpt)), 124'544'027);
  EXPECT_EQ(parameter_count(gpt_specs(model_preset("big").gpt)), 315'056'323);
}

TEST(GptSpecs, NamesAreUnique) {
  std::set<std::string> names;
  for (const auto& spec : gpt_specs(model_preset("small").gpt)) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
  }
}

TEST(GptSpecs, TransformerWeightsAreStoredInputsFirst) {
  const TensorSpecs specs = gpt_specs(model_preset("xtts-v2").gpt);
  EXPECT_EQ(find(specs, "gpt.h.29.attn.c_attn.weight").shape,
            (std::vector<std::int64_t>{1024, 3072}));
  EXPECT_EQ(find(specs, "gpt.h.0.mlp.c_proj.weight").shape,
            (std::vector<std::int64_t>{4096, 1024}));
  EXPECT_EQ(find(specs, "text_head.weight").shape, (std::vector<std::int64_t>{6681, 1024}));
}

TEST(GptSpecs, EmbeddingsStartWideAndPositionsAsWaves) {
  const TensorSpecs specs = gpt_specs(model_preset("xtts-v2").gpt);
  EXPECT_EQ(find(specs, "text_embedding.weight").scale, 1.0);
  EXPECT_EQ(find(specs, "mel_embedding.weight").scale, 1.0);
  EXPECT_EQ(find(specs, "mel_pos_embedding.emb.weight").init, Init::Waves);
  EXPECT_EQ(find(specs, "text_pos_embedding.emb.weight").init, Init::Waves);
  EXPECT_EQ(find(specs, "conditioning_encoder.attn.5.proj_out.weight").init, Init::Zeros);
}

TEST(GptSpecs, AShapeIsExplainedByTheFieldThatSetsIt) {
  const TensorSpecs specs = gpt_specs(model_preset("xtts-v2").gpt);
  EXPECT_EQ(find(specs, "text_head.bias").explained_by, "gpt.text_ids");
  EXPECT_EQ(find(specs, "mel_pos_embedding.emb.weight").explained_by, "gpt.max_audio_tokens");
  EXPECT_EQ(find(specs, "gpt.ln_f.weight").explained_by, "gpt.width");
}

}  // namespace
}  // namespace myxtts::gpt_specs_test
