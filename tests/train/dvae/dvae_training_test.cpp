// SPDX-License-Identifier: Apache-2.0
#include "train/dvae/dvae_training.h"

#include <cmath>
#include <limits>
#include <memory>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/dvae.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "support/formula_weights.h"
#include "support/golden.h"
#include "support/small_networks.h"
#include "train/dvae/mel_windows.h"

namespace myxtts::test::dvae_training_test {
namespace {

// As loss_names() has them.
enum Loss : std::size_t { Reconstruction, Commitment, Perplexity, CodesUsed, MelError };

constexpr double kGolden = 1e-5;  // relative

std::unique_ptr<RoleDevice> cpu() {
  return open_role_device(Role::Model, RolePlan{});
}

at::Tensor ones() {
  return at::ones({80});
}

// As tests/golden/make_dvae_training.py has them.
NamedTensors golden_weights() {
  auto weights = formula_weights(dvae_specs(small_dvae()), "small.dvae.");
  weights.at("codebook.cluster_size").add_(1);
  weights.at("codebook.embed_avg")
      .copy_(weights.at("codebook.embed") * weights.at("codebook.cluster_size"));
  return weights;
}

DvaeTrainingSettings golden_settings() {
  return {.codebook = {.least_use = 0}};  // the peer's codes stay as they are
}

class DvaeTrainingGolden : public ::testing::Test {
 protected:
  void expect_codebook(const std::string& when) {
    const auto weights = training_->weights();
    for (const std::string name : {"embed", "embed_avg", "cluster_size"}) {
      EXPECT_LE(relative_error(weights.at("codebook." + name), golden_.at(when + "." + name)),
                kGolden)
          << name;
    }
  }

  const GoldenTensors golden_ = read_golden("networks/dvae_training.safetensors");
  const std::unique_ptr<RoleDevice> device_ = cpu();
  const std::unique_ptr<PartTraining> training_ =
      make_dvae_training(small_dvae(), golden_weights(), ones(), *device_, golden_settings());
  DeviceBatch batch_ = mel_batch(formula_values("small.training_mel", {3, 80, 52}) * 2, *device_);
};

TEST_F(DvaeTrainingGolden, GradientsAndCodebookOfOneStepAreThePeers) {
  training_->accumulate(batch_);
  int gradients = 0;
  for (const auto& [name, tensor] : training_->kept()) {
    if (!name.starts_with("gradient.")) continue;
    EXPECT_LE(relative_error(tensor, golden_.at(name)), kGolden) << name;
    ++gradients;
  }
  EXPECT_EQ(gradients, 38);
  training_->update(1e-3);
  expect_codebook("first");
}

TEST_F(DvaeTrainingGolden, TenStepsFollowThePeers) {
  const auto numbers = train(*training_, {&batch_}, 10, 1e-3);
  for (std::size_t step = 0; step < 10; ++step) {
    const auto wanted = golden_.at("curve")[static_cast<std::int64_t>(step)];
    EXPECT_NEAR(numbers[step].losses[Reconstruction] / wanted[0].item<double>(), 1, kGolden);
    EXPECT_NEAR(numbers[step].losses[Commitment] / wanted[1].item<double>(), 1, kGolden);
    EXPECT_NEAR(numbers[step].loss, training_->total(numbers[step].losses),
                1e-5 * numbers[step].loss);
  }
  expect_codebook("last");
  for (const std::string name : {"encoder.1.0.weight", "decoder.0.weight"}) {
    EXPECT_LE(relative_error(training_->weights().at(name), golden_.at("last." + name)), kGolden);
  }
}

class SmallDvaeTraining : public ::testing::Test {
 protected:
  std::unique_ptr<PartTraining> make(const DvaeTrainingSettings& settings = {}) {
    return make_dvae_training(small_dvae(), weights_, ones(), *device_, settings);
  }
  DeviceBatch batch(std::uint64_t seed, std::int64_t windows = 4) {
    return mel_batch(speechlike_mel(windows, 32, seed), *device_);
  }

  // With a codebook that is not new.
  NamedTensors used_weights() {
    auto training = make({.codebook = {.begin_steps = 1}});
    auto one = batch(1);
    train(*training, {&one}, 1, 1e-3);
    return copies(training->weights());
  }

  const NamedTensors weights_ = initialise(dvae_specs(small_dvae()), 3);
  const std::unique_ptr<RoleDevice> device_ = cpu();
};

TEST_F(SmallDvaeTraining, ANewCodebookBeginsWithOutputsOfTheEncoder) {
  auto training = make({.codebook = {.begin_steps = 1}});
  auto one = batch(1);
  training->accumulate(one);
  training->update(1e-9);  // so that the encoder stays what it was
  const Dvae encoder(small_dvae(), training->weights());
  const auto z = encoder.encode(one.windows.mel).transpose(1, 2).flatten(0, 1);  // [32, dim]
  const auto embed = training->weights().at("codebook.embed").t();               // [64, dim]
  const auto nearest = std::get<0>(at::cdist(embed, z).min(1));
  EXPECT_LE(nearest.max().item<double>(), 1e-3 * z.norm(2, 1).mean().item<double>());
  // No output twice before each was taken once.
  const auto taken = std::get<1>(at::cdist(embed.narrow(0, 0, 32), z).min(1));
  EXPECT_EQ(std::get<0>(at::_unique(taken)).size(0), 32);
}

TEST_F(SmallDvaeTraining, AStepThatIsNotFiniteChangesNoByteOfCodebookToo) {
  for (const int good_steps : {0, 3}) {
    auto training = make();
    auto good = batch(1);
    if (good_steps > 0) train(*training, {&good}, good_steps, 1e-3);
    const auto weights = copies(training->weights());
    const auto optimiser = copies(training->optimiser());
    auto bad = batch(2);
    bad.windows.mel[0][0][0] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(train(*training, {&bad}, 1, 1e-3).at(0).skipped);
    expect_equal(training->weights(), weights);
    expect_equal(training->optimiser(), optimiser);
    EXPECT_FALSE(train(*training, {&good}, 1, 1e-3).at(0).skipped);
  }
}

// Codes begin anew before and behind the checkpoint; and once more while the codebook is new.
TEST_F(SmallDvaeTraining, ARestoredTrainingContinuesBitForBit) {
  constexpr int kSteps = 30;
  const DvaeTrainingSettings settings = {
      .step = {.seed = 5}, .codebook = {.decay = 0.8, .least_use = 0.3, .begin_steps = 10}};
  auto one = batch(1);
  auto two = batch(2);
  auto whole = make(settings);
  train(*whole, {&one, &two}, kSteps, 1e-3);
  const auto weights = copies(whole->weights());
  const auto optimiser = copies(whole->optimiser());
  const auto wanted = train(*whole, {&one, &two}, kSteps, 1e-3);

  auto resumed = make(settings);
  resumed->restore(kSteps, weights, optimiser);
  const auto found = train(*resumed, {&one, &two}, kSteps, 1e-3);
  EXPECT_EQ(found.back().step, 2 * kSteps);
  EXPECT_EQ(found.back().losses, wanted.back().losses);
  expect_equal(resumed->weights(), whole->weights());
  expect_equal(resumed->optimiser(), whole->optimiser());

  auto another_seed = make({.step = {.seed = 6}, .codebook = settings.codebook});
  another_seed->restore(kSteps, weights, optimiser);
  EXPECT_NE(train(*another_seed, {&one, &two}, kSteps, 1e-3).back().loss, wanted.back().loss);
}

TEST_F(SmallDvaeTraining, ANewCodebookIsNewForAsManySteps) {
  const DvaeTrainingSettings settings = {.codebook = {.begin_steps = 4}};
  auto one = batch(1);
  auto whole = make(settings);
  train(*whole, {&one}, 2, 1e-3);
  auto resumed = make(settings);
  resumed->restore(2, copies(whole->weights()), copies(whole->optimiser()));
  const auto sizes = [&] { return resumed->weights().at("codebook.cluster_size"); };
  train(*resumed, {&one}, 1, 1e-3);
  EXPECT_EQ(sizes().sum().item<double>(), 0);
  train(*resumed, {&one}, 1, 1e-3);
  EXPECT_GT(sizes().min().item<double>(), 0.9);
}

TEST_F(SmallDvaeTraining, WindowsWithoutWeightCountForNothing) {
  const auto run = [this](bool padded) {
    auto training = make({.codebook = {.begin_steps = 1}});
    auto first = batch(1);  // the codebook begins with all of it
    train(*training, {&first}, 1, 1e-3);
    auto some = batch(2, 3);
    if (padded) {
      some = batch(3, 5);
      some.windows.mel.narrow(0, 0, 3).copy_(batch(2, 3).windows.mel);
      some.windows.weights.narrow(0, 3, 2).zero_();
    }
    const auto numbers = train(*training, {&some}, 1, 1e-3).at(0);
    return std::pair(numbers, copies(training->weights()));
  };
  const auto [alone, alone_weights] = run(false);
  const auto [padded, padded_weights] = run(true);
  for (std::size_t loss = 0; loss < alone.losses.size(); ++loss) {
    EXPECT_NEAR(padded.losses[loss] / alone.losses[loss], 1, 1e-5) << loss;
  }
  for (const auto& [name, tensor] : alone_weights) {
    EXPECT_TRUE(at::allclose(padded_weights.at(name), tensor, 1e-4, 1e-5)) << name;
  }
}

TEST_F(SmallDvaeTraining, BatchesOfAStepEqualOneLargeBatch) {
  const auto run = [this](bool split) {
    auto training = make({.step = {.batches_a_step = split ? 2 : 1}});
    training->restore(1, used_weights(), training->optimiser());
    const auto mel = speechlike_mel(4, 32, 2);
    auto whole = mel_batch(mel, *device_);
    auto a = mel_batch(mel.narrow(0, 0, 2), *device_);
    auto b = mel_batch(mel.narrow(0, 2, 2), *device_);
    training->accumulate(split ? a : whole);
    if (split) training->accumulate(b);
    training->update(1e-3);
    return std::pair(training->finish_numbers().at(0), copies(training->weights()));
  };
  const auto [large, large_weights] = run(false);
  const auto [summed, summed_weights] = run(true);
  EXPECT_NEAR(summed.loss / large.loss, 1, 1e-5);
  for (const auto& [name, tensor] : large_weights) {
    EXPECT_TRUE(at::allclose(summed_weights.at(name), tensor, 1e-4, 1e-5)) << name;
  }
}

TEST_F(SmallDvaeTraining, EvaluationMeasuresWithoutChangingAnything) {
  auto training = make();
  auto one = batch(1);
  train(*training, {&one}, 5, 1e-3);
  const auto weights = copies(training->weights());
  const auto optimiser = copies(training->optimiser());
  auto held_back = batch(7, 6);
  held_back.windows.weights[5] = 0;
  const auto measured = training->evaluate(held_back);
  ASSERT_EQ(measured.sizes(), at::IntArrayRef({2, 5}));
  expect_equal(training->weights(), weights);
  expect_equal(training->optimiser(), optimiser);

  const Dvae dvae(small_dvae(), weights);
  const auto mel = held_back.windows.mel.narrow(0, 0, 5);
  const auto codes = dvae.quantise(dvae.encode(mel));
  const auto error = dvae.decode(dvae.look_up(codes)) - mel;
  const auto means = measured[0] / measured[1];
  EXPECT_EQ(measured[1][0].item<double>(), 5);
  EXPECT_NEAR(means[Reconstruction].item<double>(), error.square().mean().item<double>(), 1e-5);
  EXPECT_NEAR(means[MelError].item<double>(), error.abs().mean().item<double>(), 1e-5);
  const auto used = static_cast<double>(std::get<0>(at::_unique(codes)).size(0));
  EXPECT_NEAR(means[CodesUsed].item<double>(), used / 64, 1e-6);
  EXPECT_LE(means[Perplexity].item<double>(), used + 1e-3);
}

TEST_F(SmallDvaeTraining, TheMelErrorIsInTheUnitsOfTheLogMel) {
  auto one = batch(1);
  const auto error = [&](double scale) {
    const auto training = make_dvae_training(small_dvae(), weights_, ones() * scale, *device_, {});
    return train(*training, {&one}, 1, 1e-3).at(0).losses;
  };
  EXPECT_NEAR(error(7)[MelError] / error(1)[MelError], 7, 1e-4);
  EXPECT_EQ(error(7)[Reconstruction], error(1)[Reconstruction]);
}

TEST_F(SmallDvaeTraining, ShortNumbersAreRefusedWithWhatToType) {
  for (const Precision precision : {Precision::Bf16, Precision::Fp16}) {
    try {
      make({.step = {.precision = precision}});
      FAIL() << "trained in short numbers";
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("--precision tf32"), std::string::npos);
    }
  }
}

TEST_F(SmallDvaeTraining, CheckpointsHoldEveryTensorOfThePublicLayout) {
  auto training = make();
  const auto weights = training->weights();
  for (const auto& spec : dvae_specs(small_dvae())) {
    ASSERT_TRUE(weights.contains(spec.name)) << spec.name;
    const bool counts = spec.role == TensorRole::Counter;
    EXPECT_EQ(weights.at(spec.name).scalar_type(), counts ? at::kLong : at::kFloat) << spec.name;
    EXPECT_EQ(weights.at(spec.name).sizes(), at::IntArrayRef(spec.shape)) << spec.name;
  }
}

}  // namespace
}  // namespace myxtts::test::dvae_training_test
