// SPDX-License-Identifier: Apache-2.0
#include "run/checkpoint_saver.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "config/model_json.h"
#include "run/open_model.h"
#include "support/temporary_folder.h"
#include "train/starting_point.h"
#include "weights/tensor_files.h"

namespace myxtts::checkpoint_saver_test {
namespace {

using test::TemporaryFolder;

void expect_equal(const NamedTensors& found, const NamedTensors& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_EQ(found.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(at::equal(found.at(name), tensor)) << name;
  }
}

class CheckpointSaverOnCpu : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  CheckpointStore store_{folder_.path()};
  const std::unique_ptr<RoleDevice> device_ = open_role_device(Role::Model, RolePlan{});
};

TEST_F(CheckpointSaverOnCpu, TensorsOfEveryKindComeBackBitByBitThoughTheyWereChangedSince) {
  const NamedTensors untrained{{"decoder.weight", at::randn({3, 2})}};
  CheckpointSaver saver(store_, *device_, untrained, {});
  const auto rows = at::randn({4, 6});
  const CheckpointContents contents{
      .state = {.step = 7, .mean_loss = 2.5},
      .weights = {{"gpt.plain", at::randn({3, 5})}, {"gpt.turned", rows.t()}},
      .optimiser = {{"first", at::randn({9}).to(at::kBFloat16)},
                    {"codes", at::arange(20, at::kByte)},
                    {"step", at::scalar_tensor(7, at::kLong)}}};
  NamedTensors weights;
  for (const auto& [name, tensor] : contents.weights) weights[name] = tensor.clone();
  saver.save(contents);
  for (const auto& [name, tensor] : contents.weights) tensor.fill_(99);
  ASSERT_TRUE(saver.finish());

  const CheckpointContents opened = open_checkpoint(store_.at("7"), facts_of(ModelPart::Gpt));
  EXPECT_EQ(opened.state, contents.state);
  expect_equal(opened.weights, weights);
  expect_equal(opened.optimiser, contents.optimiser);
  expect_equal(
      {{"decoder.weight", read_tensors(folder_ / "latest/model.safetensors").at("decoder.weight")}},
      untrained);
}

class CheckpointOfAStage : public CheckpointSaverOnCpu,
                           public ::testing::WithParamInterface<ModelPart> {};

TEST_P(CheckpointOfAStage, IsAModelThatOpensWithWhatWasTrainedAndTheRestAsItWas) {
  const ModelConfig config = model_preset("tiny");
  const OpenModel before = new_model(config, 3);
  OpenModel after = before;
  const PartFacts& part = facts_of(GetParam());
  const bool is_dvae = GetParam() == ModelPart::Dvae;
  NamedTensors& changed = is_dvae ? after.dvae : after.model;
  for (const auto& [name, tensor] : trained_tensors(part, changed)) changed[name] = tensor + 1;
  write_file_atomically(folder_ / files::kConfig, bytes_of(print_model_config(config)));
  write_tensors(folder_ / files::kModel, before.model);
  write_tensors(folder_ / files::kDvae, before.dvae);

  const auto fixed = folder_ / (is_dvae ? files::kModel : files::kDvae);
  const NamedTensors& file = is_dvae ? before.dvae : before.model;
  CheckpointSaver saver(store_, *device_, untrained_tensors(part, file),
                        {folder_ / files::kConfig, fixed}, std::string(part.file));
  saver.save({.state = {.step = 1}, .weights = trained_tensors(part, changed)});
  ASSERT_TRUE(saver.finish());

  const OpenModel opened = open_model(folder_ / "latest");
  EXPECT_EQ(opened.config, config);
  expect_equal(opened.model, after.model);
  expect_equal(opened.dvae, after.dvae);
  EXPECT_EQ(std::filesystem::hard_link_count(fixed), 2u);
  expect_equal(open_checkpoint(store_.at("1"), part).weights, trained_tensors(part, changed));
}

INSTANTIATE_TEST_SUITE_P(Every, CheckpointOfAStage, ::testing::ValuesIn(kModelParts),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST_F(CheckpointSaverOnCpu, AStateOfAnotherStepThanItsFolderIsRefused) {
  CheckpointSaver saver(store_, *device_, {}, {});
  saver.save({.state = {.step = 4}});
  ASSERT_TRUE(saver.finish());
  Checkpoint checkpoint = store_.at("4");
  checkpoint.step = 5;
  EXPECT_THROW((void)open_checkpoint(checkpoint, facts_of(ModelPart::Gpt)), DataError);
}

}  // namespace
}  // namespace myxtts::checkpoint_saver_test
