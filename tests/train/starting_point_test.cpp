// SPDX-License-Identifier: Apache-2.0
#include "train/starting_point.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/checkpoint_specs.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/network_specs.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"
#include "train/plain_training.h"

namespace myxtts::starting_point_test {
namespace {

using test::TemporaryFolder;

constexpr TextIds kIds{.count = 500, .start = 498, .stop = 499};

TextIds ids_of(const GptConfig& gpt) {
  return {.count = gpt.text_ids, .start = gpt.start_text, .stop = gpt.stop_text};
}

template <typename Wanted>
std::string complaint(const std::filesystem::path& folder, const TextIds& ids,
                      const std::optional<std::string>& size = {}) {
  try {
    model_to_train(folder, ids, size);
  } catch (const Wanted& error) {
    return error.what();
  }
  return "";
}

TEST(StartingPoint, ANewModelHasTheSizesAskedForAndEveryTensor) {
  const auto config = new_model_config("tiny", kIds);
  EXPECT_EQ(config.gpt.text_ids, 500);
  EXPECT_EQ(config.gpt.start_text, 498);
  EXPECT_EQ(config.gpt.stop_text, 499);
  EXPECT_EQ(config.gpt.layers, model_preset("tiny").gpt.layers);
  const auto model = new_model(config, 3);
  for (const auto& spec : checkpoint_specs(config)) {
    ASSERT_TRUE(model.model.contains(spec.name)) << spec.name;
    EXPECT_EQ(model.model.at(spec.name).sizes(), at::IntArrayRef(spec.shape)) << spec.name;
  }
  EXPECT_EQ(model.model.size(), checkpoint_specs(config).size());
  EXPECT_EQ(model.dvae.size(), dvae_specs(config.dvae).size());
  EXPECT_EQ(size_name(config.gpt), "tiny");
}

TEST(StartingPoint, EqualSeedsGiveEqualModelsAndOthersOthers) {
  const auto config = new_model_config("tiny", kIds);
  EXPECT_TRUE(test::same_tensors(new_model(config, 3).model, new_model(config, 3).model));
  EXPECT_FALSE(test::same_tensors(new_model(config, 3).model, new_model(config, 4).model));
}

TEST(StartingPoint, ASizeThatDoesNotExistIsRefused) {
  EXPECT_THROW(new_model_config("huge", kIds), ConfigError);
}

TEST(StartingPoint, AVocabularyWithoutItsStartIsRefused) {
  EXPECT_THROW(new_model_config("tiny", {.count = 500, .start = 500, .stop = 0}), ConfigError);
}

TEST(StartingPoint, AModelIsOpenedWithItsOwnVocabulary) {
  const TemporaryFolder folder;
  const auto tiny = test::write_tiny_model(folder / "model");
  const auto opened = model_to_train(folder / "model", ids_of(tiny.config.gpt), std::nullopt);
  EXPECT_EQ(opened.config, tiny.config);
  EXPECT_TRUE(test::same_tensors(opened.model, tiny.model));
  EXPECT_NO_THROW(model_to_train(folder / "model", ids_of(tiny.config.gpt), "tiny"));
}

TEST(StartingPoint, AVocabularyThatHasGrownWithoutItsModelIsRefusedAndSaysWhatToType) {
  const TemporaryFolder folder;
  TextIds ids = ids_of(test::write_tiny_model(folder / "model").config.gpt);
  ids.count += 10;
  EXPECT_NE(complaint<DataError>(folder / "model", ids).find("myxtts vocab extend"),
            std::string::npos);
}

TEST(StartingPoint, AVocabularyOfAnotherModelIsRefused) {
  const TemporaryFolder folder;
  TextIds ids = ids_of(test::write_tiny_model(folder / "model").config.gpt);
  ++ids.start;
  EXPECT_NE(complaint<DataError>(folder / "model", ids).find("[START]"), std::string::npos);
}

TEST(StartingPoint, AModelSizeThatTheModelDoesNotHaveIsRefused) {
  const TemporaryFolder folder;
  const auto ids = ids_of(test::write_tiny_model(folder / "model").config.gpt);
  const auto said = complaint<ConfigError>(folder / "model", ids, "small");
  EXPECT_NE(said.find("--model-size small was asked for"), std::string::npos) << said;
  EXPECT_NE(said.find("tiny, 4 layers of width 128"), std::string::npos) << said;
}

}  // namespace
}  // namespace myxtts::starting_point_test
