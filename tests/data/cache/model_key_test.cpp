// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feature_writer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace myxtts::test::model_key_test {
namespace {

NamedTensors some_weights() {
  return {{"encoder.0.0.weight", at::arange(24, at::kFloat).view({2, 3, 4})},
          {"codebook.embed", at::ones({2, 8})},
          {"discrete_loss.accumulator_index", at::zeros({1}, at::kLong)}};
}

TEST(ModelKey, OneChangedWeightOfAnyTensorGivesAnotherKey) {
  const auto stats = at::ones({80});
  const auto key = model_key(some_weights(), stats);
  EXPECT_EQ(key, model_key(some_weights(), stats.clone()));
  for (const auto& [name, unused] : some_weights()) {
    auto weights = some_weights();
    weights.at(name).view(-1)[0] += 1;
    EXPECT_NE(key, model_key(weights, stats)) << name;
  }
  auto changed = stats.clone();
  changed[79] += 1e-6;
  EXPECT_NE(key, model_key(some_weights(), changed));
  EXPECT_NE(key, model_key(some_weights(), stats, {.hop = 255}));
}

TEST(ModelKey, DoesNotDependOnHowATensorLiesInMemory) {
  auto weights = some_weights();
  auto& tensor = weights.at("encoder.0.0.weight");
  tensor = tensor.permute({2, 1, 0}).contiguous().permute({2, 1, 0});
  ASSERT_FALSE(tensor.is_contiguous());
  EXPECT_EQ(model_key(weights, at::ones({80})), model_key(some_weights(), at::ones({80})));
}

}  // namespace
}  // namespace myxtts::test::model_key_test
