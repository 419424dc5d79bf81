// SPDX-License-Identifier: Apache-2.0
#include "model/dvae.h"

#include <cstdlib>
#include <filesystem>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "audio/mel_spectrogram.h"
#include "audio/resample.h"
#include "base/error.h"
#include "model/network_specs.h"
#include "support/every_tensor_matters.h"
#include "support/formula_weights.h"
#include "support/golden.h"
#include "support/small_networks.h"

namespace myxtts::test::dvae_test {
namespace {

Dvae make_small() {
  return Dvae(small_dvae(), formula_weights(dvae_specs(small_dvae()), "small.dvae."));
}

at::Tensor small_mel() {
  return formula_values("small.mel", {3, 80, 53}) * 2;
}

TEST(Dvae, EncodesQuantisesAndDecodesAsTheGolden) {
  const auto golden = read_golden("networks/small.safetensors");
  const auto dvae = make_small();
  const auto z = dvae.encode(small_mel());
  EXPECT_LE(relative_error(z, golden.at("dvae.z")), 1e-6);
  const auto codes = dvae.quantise(z);
  EXPECT_TRUE(codes.equal(golden.at("dvae.codes")));
  EXPECT_LE(relative_error(dvae.decode(dvae.look_up(codes)), golden.at("dvae.decoded")), 1e-6);
}

TEST(Dvae, InThePublicShapeTurnsSpeechIntoTheCodesOfTheGolden) {
  const auto golden = read_golden("networks/public.safetensors");
  const Dvae dvae({}, formula_weights(dvae_specs({}), "public.dvae."));
  const std::filesystem::path tests = std::getenv("MYXTTS_TEST_DATA");
  const auto speech = read_clip(tests / "golden/audio/speech.wav", 22050).unsqueeze(0);
  const auto mel = normalised_log_mel(MelSpectrogram(dvae_mel_config(), at::kCPU)(speech),
                                      formula_values("mel_stats", {80}) * 0.5 + 2);
  const auto z = dvae.encode(mel);
  EXPECT_LE(relative_error(z, golden.at("dvae.z")), 1e-5);
  const auto codes = dvae.quantise(z);
  EXPECT_TRUE(codes.equal(golden.at("dvae.codes")));
  EXPECT_LE(relative_error(dvae.decode(dvae.look_up(codes)), golden.at("dvae.decoded")), 1e-5);
}

TEST(Dvae, TakesTheFirstOfEquallyNearCodes) {
  auto weights = formula_weights(dvae_specs(small_dvae()), "small.dvae.");
  auto& embed = weights.at("codebook.embed");
  embed.select(1, 40).copy_(embed.select(1, 9));
  const Dvae dvae(small_dvae(), weights);
  const auto z = embed.select(1, 9).view({1, 24, 1});
  EXPECT_EQ(dvae.quantise(z).item<std::int64_t>(), 9);
}

// From the samples on: a batch of clips of all lengths, noise behind their ends.
TEST(Dvae, GivesEveryClipOfABatchTheCodesItGetsAlone) {
  const auto dvae = make_small();
  const MelSpectrogram mel(dvae_mel_config(), at::kCPU);
  const auto stats = formula_values("mel_stats", {80}) * 0.5 + 2;
  const std::vector<std::int64_t> lengths = {30000, 513, 1023, 1024, 1025, 7777, 20480, 29999};
  const auto clips = formula_values("clips", {8, 30000});
  const auto counts = at::tensor(lengths);
  const auto together =
      dvae.encode(normalised_log_mel(mel(clips, counts), stats), mel.frame_count(counts));
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    const auto index = static_cast<std::int64_t>(row);
    const auto clip = clips.narrow(0, index, 1).narrow(1, 0, lengths[row]);
    const auto alone = dvae.encode(normalised_log_mel(mel(clip), stats));
    const auto count = Dvae::code_count(mel.frame_count(lengths[row]));
    ASSERT_EQ(alone.size(2), count);
    const auto part = together.narrow(0, index, 1);
    EXPECT_LE(relative_error(part.narrow(2, 0, count), alone), 2e-6) << lengths[row] << " samples";
    EXPECT_TRUE(dvae.quantise(part.narrow(2, 0, count)).equal(dvae.quantise(alone)));
    EXPECT_EQ(part.narrow(2, count, part.size(2) - count).count_nonzero().item<int>(), 0);
  }
}

TEST(Dvae, EveryTensorMattersButTheTrainersBookkeeping) {
  const auto weights = formula_weights(dvae_specs(small_dvae()), "small.dvae.");
  const auto outputs = [](const NamedTensors& tensors) {
    const Dvae dvae(small_dvae(), tensors);
    const auto z = dvae.encode(small_mel());
    return at::cat({z.flatten(), dvae.decode(dvae.look_up(dvae.quantise(z))).flatten()});
  };
  EXPECT_EQ(tensors_without_effect(weights, outputs),
            (std::vector<std::string>{
                "codebook.cluster_size", "codebook.embed_avg", "discrete_loss.accumulator",
                "discrete_loss.accumulator_filled", "discrete_loss.accumulator_index"}));
}

TEST(Dvae, NamesTheTensorsThatDoNotFitItsSizes) {
  auto weights = formula_weights(dvae_specs(small_dvae()), "");
  weights.erase("decoder.0.bias");
  weights.at("encoder.0.0.weight") = at::zeros({16, 81, 3});
  try {
    const Dvae dvae(small_dvae(), weights);
    FAIL() << "a network was built of tensors that do not fit";
  } catch (const InternalError& error) {
    const std::string words = error.what();
    EXPECT_NE(words.find("decoder.0.bias is missing"), std::string::npos) << words;
    EXPECT_NE(words.find("encoder.0.0.weight is [16, 81, 3], not [16, 80, 3]"), std::string::npos)
        << words;
  }
}

}  // namespace
}  // namespace myxtts::test::dvae_test
