// SPDX-License-Identifier: Apache-2.0
#include "train/speaker/speaker_training.h"

#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/model.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/speaker_encoder.h"
#include "support/formula_weights.h"
#include "support/golden.h"
#include "support/small_networks.h"
#include "train/dvae/mel_windows.h"

namespace myxtts::test::speaker_training_test {
namespace {

enum Loss : std::size_t { SpeakerLoss, Accuracy, CosineGap };

// The peer's encoder in training mode: tests/golden/make_speaker_training.py.
TEST(SpeakerEncoderInTraining, GivesVectorsGradientsAndStatisticsOfThePeer) {
  const auto golden = read_golden("networks/speaker_training.safetensors");
  const auto tables = read_golden("networks/small.safetensors");
  const auto specs = speaker_encoder_specs(small_speaker_encoder());
  auto weights = formula_weights(specs, "small.speaker_encoder.");
  for (const char* table : {"0.filter", "1.spectrogram.window", "1.mel_scale.fb"}) {
    weights.emplace(std::string("torch_spec.") + table,
                    tables.at(std::string("speaker_encoder.") + table));
  }
  for (const auto& spec : specs) {
    if (spec.role == TensorRole::Parameter) weights.at(spec.name).set_requires_grad(true);
  }
  const SpeakerEncoder encoder(small_speaker_encoder(), weights, "",
                               SpeakerEncoder::Mode::Training);
  const auto vectors = encoder.unscaled(formula_values("small.training_wave", {3, 8000}) * 0.5);
  EXPECT_LE(relative_error(vectors.detach(), golden.at("vectors")), 2e-5);
  (vectors * formula_values("small.speaker.loss", {3, 40})).mean().backward();
  int gradients = 0;
  for (const auto& [name, wanted] : golden) {
    if (name.starts_with("gradient_norm.")) {
      const auto& parameter = weights.at(name.substr(14));
      // Biases before a normalisation have none but noise; other gradients are what normalisations
      // leave of sums that cancel: without fused multiplication their fourth digit is another one.
      EXPECT_NEAR(parameter.grad().norm().item<double>(), wanted.item<double>(),
                  1e-3 * wanted.item<double>() + 1e-8)
          << name;
      ++gradients;
    } else if (name.find("running") != std::string::npos) {
      EXPECT_LE(relative_error(weights.at(name), wanted), 2e-5) << name;
    }
  }
  EXPECT_GE(gradients, 40);
}

// A voice: pulses at a pitch that wavers, through two resonances of its own, with noise.
at::Tensor voice(int speaker, std::uint64_t seed) {
  constexpr std::int64_t kSamples = 12'000;
  constexpr double kPitch[] = {95, 150, 230};
  constexpr double kFormants[][2] = {{500, 1500}, {700, 1100}, {350, 2300}};
  const auto generator = at::detail::createCPUGenerator(seed);
  const auto time = at::arange(kSamples, at::kFloat) / 16'000;
  const auto draws = at::rand({4}, generator);
  const double pitch = kPitch[speaker] * (0.93 + 0.14 * draws[0].item<double>());
  auto wave = at::zeros({kSamples});
  for (int harmonic = 1; harmonic * pitch < 4000; ++harmonic) {
    double level = 0;
    for (const double formant : kFormants[speaker]) {
      level += std::exp(-std::pow((harmonic * pitch - formant) / 180, 2));
    }
    const auto waver = (time * (5 + 2 * draws[1].item<double>())).sin() * 0.3 * harmonic;
    wave += ((time * (2 * std::numbers::pi * pitch * harmonic)) + waver).sin() * (level + 0.02);
  }
  const auto swell = (time * (3 + 4 * draws[2].item<double>())).sin().abs() + 0.1;
  return (wave * swell + at::randn({kSamples}, generator) * 0.05) * 0.1;
}

class ThreeVoices : public ::testing::Test {
 protected:
  ThreeVoices() {
    at::set_num_threads(1);
    weights_.clear();
    auto made = initialise(speaker_encoder_specs(config_), 1);
    made.merge(speaker_encoder_tables(config_));
    for (auto& [name, tensor] : made) weights_.emplace(kSpeakerEncoderPrefix + name, tensor);
  }

  std::unique_ptr<PartTraining> make(const SpeakerTrainingSettings& settings = {.speakers = 3}) {
    return make_speaker_training(config_, weights_, *device_, settings);
  }

  DeviceBatch batch(std::uint64_t seed, std::int64_t windows = 12) {
    std::vector<at::Tensor> sounds;
    std::vector<std::int64_t> speakers;
    for (std::int64_t i = 0; i < windows; ++i) {
      speakers.push_back(i % 3);
      sounds.push_back(voice(static_cast<int>(i % 3), seed * 1000 + static_cast<std::uint64_t>(i)));
    }
    DeviceBatch made;
    made.windows.sound = at::stack(sounds);
    made.windows.speakers = at::tensor(speakers);
    made.windows.weights = at::ones({windows});
    made.filled = device_->make_event();
    made.consumed = device_->make_event();
    return made;
  }

  const SpeakerEncoderConfig config_ = model_preset("tiny").speaker_encoder;
  NamedTensors weights_;
  const std::unique_ptr<RoleDevice> device_ = open_role_device(Role::Model, RolePlan{});
};

TEST_F(ThreeVoices, AreToldApartInSoundThatWasNeverHeard) {
  std::vector<DeviceBatch> batches;
  std::vector<DeviceBatch*> all;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) batches.push_back(batch(seed));
  for (auto& each : batches) all.push_back(&each);
  auto held_back = batch(100, 24);
  auto training = make();
  const auto before = training->evaluate(held_back);
  const auto means_before = before[0] / before[1];
  train(*training, all, 60, 2e-3);
  const auto after = training->evaluate(held_back);
  const auto means = after[0] / after[1];
  // Of 24 windows chance gets eight right, and 18 once in ten thousand times.
  EXPECT_GE(means[Accuracy].item<double>(), 0.75);
  // A margin of 0.2 radians asks for no more than about 0.25; an untrained encoder has 0.01.
  EXPECT_GE(means[CosineGap].item<double>(), 0.125);
  EXPECT_LE(means_before[CosineGap].item<double>(), 0.05);
  EXPECT_LE(means[SpeakerLoss].item<double>(), std::log(3.0) / 2);
}

TEST_F(ThreeVoices, AVoiceThatIsNotTrainedIsMeasuredByWhetherItsWindowsAreAlike) {
  auto training = make({.speakers = 2});
  auto held_back = batch(100, 12);
  held_back.windows.speakers =
      held_back.windows.speakers.masked_fill(held_back.windows.speakers.eq(2), -1);
  const auto measured = training->evaluate(held_back);
  EXPECT_EQ(measured[1][SpeakerLoss].item<double>(), 12) << "every window counts";
  EXPECT_TRUE(at::isfinite(measured).all().item<bool>());
}

TEST_F(ThreeVoices, StrangersThatSoundAlikeToTheEncoderAreNotToldApart) {
  auto training = make({.speakers = 2});
  auto held_back = batch(100, 12);
  held_back.windows.speakers = -1 - held_back.windows.speakers;
  held_back.windows.sound = held_back.windows.sound[0].expand_as(held_back.windows.sound).clone();
  const auto measured = training->evaluate(held_back);
  const double loss = (measured[0] / measured[1])[SpeakerLoss].item<double>();
  EXPECT_GT(loss, std::log(8.0)) << "eight windows of other voices are as near as its own voice";
}

TEST_F(ThreeVoices, ContinueBitForBitWhenRestored) {
  auto one = batch(1, 6);
  auto two = batch(2, 6);
  auto whole = make();
  train(*whole, {&one, &two}, 4, 1e-3);
  const auto weights = copies(whole->weights());
  const auto optimiser = copies(whole->optimiser());
  const auto wanted = train(*whole, {&one, &two}, 3, 1e-3);
  auto resumed =
      make({.step = {.seed = 9}, .speakers = 3});  // another head, which restoring replaces
  resumed->restore(4, weights, optimiser);
  const auto found = train(*resumed, {&one, &two}, 3, 1e-3);
  EXPECT_EQ(found.back().losses, wanted.back().losses);
  expect_equal(resumed->weights(), whole->weights());
  expect_equal(resumed->optimiser(), whole->optimiser());
  const auto counter = std::string(kSpeakerEncoderPrefix) + "bn1.num_batches_tracked";
  EXPECT_EQ(resumed->weights().at(counter).item<std::int64_t>(), 7);
}

TEST_F(ThreeVoices, AStepThatIsNotFiniteLeavesStatisticsAlone) {
  auto training = make();
  auto good = batch(1, 6);
  train(*training, {&good}, 2, 1e-3);
  const auto weights = copies(training->weights());
  const auto optimiser = copies(training->optimiser());
  auto bad = batch(2, 6);
  bad.windows.sound[0][5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(train(*training, {&bad}, 1, 1e-3).at(0).skipped);
  expect_equal(training->weights(), weights);
  expect_equal(training->optimiser(), optimiser);
  EXPECT_FALSE(train(*training, {&good}, 1, 1e-3).at(0).skipped);
}

TEST_F(ThreeVoices, WindowsOfSilenceThatFillABatchDoNotReachItsStatistics) {
  const auto run = [this](bool padded) {
    auto training = make();
    auto some = batch(1, 6);
    if (padded) {
      auto wider = batch(1, 12);  // the same six first; a multiple, so that statistics are the same
      wider.windows.sound.narrow(0, 6, 6).zero_();
      wider.windows.weights.narrow(0, 6, 6).zero_();
      some = std::move(wider);
    }
    const auto loss = train(*training, {&some}, 1, 1e-3).at(0).loss;
    return std::pair(
        loss,
        training->weights().at(std::string(kSpeakerEncoderPrefix) + "bn1.running_mean").clone());
  };
  const auto [alone, alone_mean] = run(false);
  const auto [padded, padded_mean] = run(true);
  EXPECT_NEAR(padded / alone, 1, 1e-4);
  EXPECT_TRUE(at::allclose(padded_mean, alone_mean, 1e-4, 1e-6));
}

TEST_F(ThreeVoices, OneSpeakerIsRefusedWithWhatTheVectorThenIs) {
  try {
    make({.speakers = 1});
    FAIL() << "trained to tell one speaker apart";
  } catch (const ConfigError& error) {
    const std::string words = error.what();
    EXPECT_NE(words.find("fixed random weights"), std::string::npos) << words;
    EXPECT_NE(words.find("Leave the part speaker out"), std::string::npos) << words;
  }
}

}  // namespace
}  // namespace myxtts::test::speaker_training_test
