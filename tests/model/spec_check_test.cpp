// SPDX-License-Identifier: Apache-2.0
#include "model/checkpoint_specs.h"

#include <algorithm>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::test::spec_check_test {
namespace {

FoundTensors fitting(const TensorSpecs& specs) {
  FoundTensors found;
  for (const TensorSpec& spec : specs) {
    found[spec.name] = {spec.shape, spec.role != TensorRole::Counter};
  }
  return found;
}

std::string complaint(const TensorSpecs& specs, const FoundTensors& found) {
  try {
    require_specs(specs, found, "model.pth",
                  [](const std::string& field) { return "<" + field + ">"; });
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CheckpointSpecs, ThePublicFileHas963Tensors) {
  EXPECT_EQ(checkpoint_specs(model_preset("xtts-v2")).size(), 963U);
}

TEST(SpecCheck, AFittingFileIsAcceptedAlsoWithoutItsCounters) {
  const auto specs = checkpoint_specs(model_preset("tiny"));
  auto found = fitting(specs);
  EXPECT_EQ(complaint(specs, found), "");
  EXPECT_EQ(found.erase("hifigan_decoder.speaker_encoder.bn1.num_batches_tracked"), 1U);
  EXPECT_EQ(complaint(specs, found), "");
}

TEST(SpecCheck, EveryFaultIsListedWithWhatSetsTheShape) {
  const auto specs = checkpoint_specs(model_preset("tiny"));
  auto found = fitting(specs);
  found.erase("gpt.gpt.h.3.ln_1.weight");
  found.erase("mel_stats");
  found["gpt.surplus"] = {{2, 3}, true};
  found["gpt.text_embedding.weight"].shape[0] -= 1;
  found["gpt.mel_head.bias"].floating = false;
  const auto message = complaint(specs, found);
  EXPECT_TRUE(contains(message, "2 tensors are missing, 1 is not known, 2 have another"))
      << message;
  EXPECT_TRUE(contains(message, "missing gpt.gpt.h.3.ln_1.weight [128] (<gpt.width>)")) << message;
  EXPECT_TRUE(contains(message, "missing mel_stats [80]")) << message;
  EXPECT_TRUE(contains(message, "not known gpt.surplus [2, 3]")) << message;
  EXPECT_TRUE(contains(message, "gpt.text_embedding.weight is [6680, 128]")) << message;
  EXPECT_TRUE(contains(message, "[6681, 128] of fractions (<gpt.text_ids>)")) << message;
  EXPECT_TRUE(contains(message, "gpt.mel_head.bias is [258] of whole numbers")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST(SpecCheck, OfManyFaultsTheFirstAreNamedAndTheOthersCounted) {
  const auto specs = checkpoint_specs(model_preset("tiny"));
  const auto message = complaint(specs, {});
  EXPECT_TRUE(contains(message, ": missing " + specs.front().name + " [")) << message;
  const auto counters = std::ranges::count(specs, TensorRole::Counter, &TensorSpec::role);
  EXPECT_TRUE(
      message.ends_with("; and " + std::to_string(std::ssize(specs) - counters - 12) + " more."))
      << message;
}

}  // namespace
}  // namespace myxtts::test::spec_check_test
