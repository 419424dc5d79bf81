// SPDX-License-Identifier: Apache-2.0
#include "config/effective_config.h"

#include <fstream>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace myxtts::test::print_differences_test {
namespace {

TEST(PrintDifferences, IsNothingForTheDefaults) {
  EXPECT_EQ(print_differences({}), "");
}

TEST(PrintDifferences, GivesTheSameSettingsBackAndLeavesTheOthersUnset) {
  RunConfig config;
  config.data.train_data = {{.path = "corpora/a b"}, {.path = "none", .weight = 2.0}};
  config.data.cache_dataset = true;
  config.devices.mode = Mode::Split;
  config.devices.split_gpu = SplitGpu{0, 16};
  config.train.batch_size = 8;
  config.train.init = "models/auto";
  config.train.lr = 0.001;
  const TemporaryFolder folder;
  std::ofstream(folder / "a.yaml") << print_differences(config);
  const EffectiveConfig read = make_effective_config({.file = folder / "a.yaml"});
  EXPECT_EQ(read.values, config);
  EXPECT_EQ(read.origin_of("train.model_size").kind, Origin::Kind::Default);
  EXPECT_EQ(read.origin_of("train.batch_size").kind, Origin::Kind::File);
}

}  // namespace
}  // namespace myxtts::test::print_differences_test
