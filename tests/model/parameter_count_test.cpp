// SPDX-License-Identifier: Apache-2.0
#include "model/tensor_spec.h"

#include <gtest/gtest.h>

#include "config/model.h"
#include "model/gpt_specs.h"
#include "model/network_specs.h"

namespace myxtts::parameter_count_test {
namespace {

TEST(ParameterCount, BuffersAndCountersAreNotParameters) {
  const TensorSpecs specs = {
      {.name = "weight", .shape = {2, 3}},
      {.name = "scale", .shape = {}},
      {.name = "window", .shape = {100}, .role = TensorRole::Buffer},
      {.name = "batches", .shape = {}, .role = TensorRole::Counter},
  };
  EXPECT_EQ(parameter_count(specs), 7);
}

TEST(ParameterCount, ThePublicNetworksHaveTheirPublishedSizes) {
  const ModelConfig config = model_preset("xtts-v2");
  EXPECT_EQ(parameter_count(gpt_specs(config.gpt)), 441'018'563);
  EXPECT_EQ(parameter_count(dvae_specs(config.dvae)), 51'567'184);
  EXPECT_EQ(parameter_count(decoder_specs(config.decoder)), 17'827'808);
  EXPECT_EQ(parameter_count(speaker_encoder_specs(config.speaker_encoder)), 8'028'492);
}

}  // namespace
}  // namespace myxtts::parameter_count_test
