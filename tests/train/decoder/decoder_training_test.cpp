// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/decoder_training.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/network_specs.h"
#include "model/vocoder.h"
#include "train/decoder/decoder_batches.h"

namespace myxtts::test::decoder_training_test {
namespace {

constexpr double kRate = 2e-3;

NamedTensors copies(const NamedTensors& tensors) {
  NamedTensors copied;
  for (const auto& [name, tensor] : tensors) copied.emplace(name, tensor.clone());
  return copied;
}

void expect_equal(const NamedTensors& found, const NamedTensors& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) {
    EXPECT_TRUE(at::equal(found.at(name), tensor)) << name;
  }
}

class DecoderTrainingOnCpu : public ::testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(1); }

  static DecoderTrainingSettings settings() {
    return {.step = {.weight_decay = 0.0, .seed = 5},
            .windows = kTestWindows,
            .window_frames = kTestFrames,
            .mel_only_steps = 0};
  }

  std::unique_ptr<PartTraining> make(const DecoderTrainingSettings& wanted) {
    return make_decoder_training(config_, weights_, *device_, wanted);
  }

  DeviceBatch batch(const BatchSeeds& seeds = {}) {
    return decoder_batch(config_, *device_, seeds);
  }

  static StepNumbers step(PartTraining& training, DeviceBatch& batch, double rate = kRate) {
    training.accumulate(batch);
    training.update(rate);
    return training.finish_numbers().at(0);
  }

  // The mean mel error of the last third of a training, with new codes for the same sound in each
  // step or always the same.
  double error_after_training(bool new_codes) {
    constexpr int kSteps = 60;
    auto wanted = settings();
    wanted.mel_only_steps = kSteps;
    const auto training = make(wanted);
    auto same = batch();
    double sum = 0;
    for (int i = 0; i < kSteps; ++i) {
      auto other = batch({.codes = static_cast<std::uint64_t>(i) + 1});
      const double error = step(*training, new_codes ? other : same).losses.at(0);
      if (i >= kSteps - kSteps / 3) sum += error;
    }
    return sum / (kSteps / 3);
  }

  // How many there are, by the names of their weights: "....period.2.LAYER",
  // "....spectrum.512.LAYER".
  static double discriminators(const PartTraining& training) {
    std::set<std::string> names;
    for (const auto& [name, tensor] : training.optimiser()) {
      const std::string prefix = "discriminator_weight.discriminator.";
      if (!name.starts_with(prefix)) continue;
      const auto kind = name.find('.', prefix.size());
      names.insert(name.substr(0, name.find('.', kind + 1)));
    }
    return static_cast<double>(names.size());
  }

  const ModelConfig config_ = small_speaking_model();
  const NamedTensors weights_ = random_speaking_weights(config_);
  const std::unique_ptr<RoleDevice> device_ = open_role_device(Role::Model, RolePlan{});
};

// Two trainings that differ in this alone: whether latents say anything about the sound. Where they
// do not, what can be learnt is one answer for all. A decoder that did not listen to its latents,
// one that could see the sound, and one that learnt nothing or its last layer alone would come as
// far in both; ours is half as far off again in the one.
TEST_F(DecoderTrainingOnCpu, LearnsTwoClipsByHeartAndNotWhatItsLatentsSayNothingAbout) {
  const double by_heart = error_after_training(/*new_codes=*/false);
  const double by_chance = error_after_training(/*new_codes=*/true);
  EXPECT_GT(by_chance, 1.2 * by_heart);
}

TEST_F(DecoderTrainingOnCpu, WithDiscriminatorsTheMelErrorFallsToo) {
  const auto training = make(settings());
  auto one = batch();
  const auto first = step(*training, one);
  StepNumbers last;
  for (int i = 0; i < 40; ++i) last = step(*training, one);
  EXPECT_LT(last.losses.at(0), 0.7 * first.losses.at(0));
  for (const double loss : last.losses) EXPECT_GT(loss, 0.0);
  const double weighed = 45 * last.losses[0] + 2 * last.losses[1] + last.losses[2];
  EXPECT_NEAR(last.loss / weighed, 1.0, 1e-5);
}

// At rate 0 the decoder stays as it is while its discriminators cannot: they are another's. So the
// decoder is held by putting its weights back.
// Whoever cannot tell does best by saying 1/2 to all: a quarter for recordings and one for what was
// made, of each discriminator.
TEST_F(DecoderTrainingOnCpu, DiscriminatorsLearnToTellWhatAFrozenDecoderMakes) {
  const auto training = make(settings());
  auto one = batch();
  double last = 0;
  for (int i = 0; i < 45; ++i) {
    last = step(*training, one).losses.at(3);
    training->restore(training->step(), weights_, training->optimiser());
  }
  EXPECT_LT(last, 0.9 * 0.5 * discriminators(*training));
}

TEST_F(DecoderTrainingOnCpu, DiscriminatorsStayAsTheyAreUntilTheyTakePart) {
  auto wanted = settings();
  wanted.mel_only_steps = 2;
  const auto training = make(wanted);
  auto one = batch();
  const auto before = copies(training->optimiser());
  const auto unchanged = [&] {
    const auto now = training->optimiser();
    return std::ranges::all_of(before, [&](const auto& named) {
      return !named.first.starts_with("discriminator") ||
             at::equal(now.at(named.first), named.second);
    });
  };
  for (int i = 0; i < 2; ++i) {
    const auto numbers = step(*training, one);
    EXPECT_EQ(numbers.losses.at(1) + numbers.losses.at(2) + numbers.losses.at(3), 0.0);
  }
  EXPECT_TRUE(unchanged());
  EXPECT_GT(step(*training, one).losses.at(3), 0.0);
  EXPECT_FALSE(unchanged());
}

TEST_F(DecoderTrainingOnCpu, ContinuesBitForBitFromACheckpoint) {
  auto wanted = settings();
  wanted.mel_only_steps = 2;
  auto first = batch({.codes = 1, .sound = 1});
  auto second = batch({.codes = 2, .sound = 2});
  const auto train = [&](PartTraining& training, int steps) {
    for (int i = 0; i < steps; ++i) {
      step(training, training.step() % 2 == 0 ? first : second);
    }
  };
  const auto straight = make(wanted);
  train(*straight, 5);

  const auto before = make(wanted);
  train(*before, 3);
  auto other = wanted;
  other.step.seed = 99;  // the discriminators come from the checkpoint, not from the seed
  const auto after = make(other);
  after->restore(3, copies(before->weights()), copies(before->optimiser()));
  train(*after, 2);
  expect_equal(after->weights(), straight->weights());
  expect_equal(after->optimiser(), straight->optimiser());
}

TEST_F(DecoderTrainingOnCpu, AWindowThatIsNotFiniteChangesNoByteOnEitherSide) {
  const auto training = make(settings());
  auto good = batch();
  step(*training, good);
  const auto weights = copies(training->weights());
  const auto optimiser = copies(training->optimiser());

  auto bad = batch();
  bad.windows.sound[2][100] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(step(*training, bad).skipped);
  expect_equal(training->weights(), weights);
  expect_equal(training->optimiser(), optimiser);

  EXPECT_FALSE(step(*training, good).skipped);  // nothing of it is left in the gradients
}

// Here the discriminators' own numbers are fine.
TEST_F(DecoderTrainingOnCpu, AFaultOfTheDecodersSideAloneStopsTheDiscriminatorsToo) {
  auto wanted = settings();
  wanted.mel_weight = std::numeric_limits<double>::infinity();
  const auto training = make(wanted);
  const auto optimiser = copies(training->optimiser());
  auto one = batch();
  EXPECT_TRUE(step(*training, one).skipped);
  expect_equal(training->optimiser(), optimiser);
}

TEST_F(DecoderTrainingOnCpu, BatchesOfAStepAreAveraged) {
  auto twice = settings();
  twice.step.batches_a_step = 2;
  const auto once = make(settings());
  const auto summed = make(twice);
  auto one = batch();
  const auto wanted = step(*once, one);
  summed->accumulate(one);
  const auto found = step(*summed, one);
  EXPECT_NEAR(found.loss / wanted.loss, 1.0, 1e-5);
  EXPECT_NEAR(found.gradient_norm / wanted.gradient_norm, 1.0, 1e-4);
}

TEST_F(DecoderTrainingOnCpu, AWindowWithoutWeightHasNoPart) {
  const auto training = make(settings());
  auto fewer = batch();
  fewer.windows.weights[3] = 0;
  const auto wanted = training->evaluate(fewer);
  fewer.windows.sound[3].fill_(0.5);
  EXPECT_TRUE(at::equal(training->evaluate(fewer), wanted));
  const auto loss = step(*training, fewer, 0.0).losses.at(0);
  EXPECT_NEAR(loss, (wanted[0][0] / wanted[1][0]).item<double>(), 1e-4);
  EXPECT_EQ(wanted[1][0].item<double>(), 3.0);
}

TEST_F(DecoderTrainingOnCpu, EvaluationChangesNothing) {
  const auto training = make(settings());
  auto one = batch();
  step(*training, one);
  const auto before = copies(training->kept());
  const auto once = training->evaluate(one);
  EXPECT_TRUE(at::equal(training->evaluate(one), once));
  expect_equal(training->kept(), before);
}

TEST_F(DecoderTrainingOnCpu, ItsWeightsAreADecoderThatSpeaksSo) {
  const auto training = make(settings());
  auto one = batch();
  for (int i = 0; i < 3; ++i) step(*training, one);
  const auto weights = training->weights();
  EXPECT_EQ(weights.size(), decoder_specs(config_.decoder).size());
  const Decoder decoder(config_.decoder, weights);
  const auto frames = at::randn({1, config_.decoder.input_dim, 8});
  const auto speaker = at::full({1, config_.decoder.speaker_dim, 1}, 0.3);
  const Decoder untrained(config_.decoder, weights_);
  EXPECT_FALSE(at::allclose(decoder.generate(frames, speaker), untrained.generate(frames, speaker),
                            0.0, 1e-4));
}

TEST_F(DecoderTrainingOnCpu, IsGivenUpOnTheWayWithoutAChange) {
  struct GaveUp : std::exception {};
  bool give_up = false;
  auto wanted = settings();
  wanted.step.poll = [&] {
    if (give_up) throw GaveUp();
  };
  const auto training = make(wanted);
  auto one = batch();
  step(*training, one);
  const auto weights = copies(training->weights());
  const auto optimiser = copies(training->optimiser());
  give_up = true;
  EXPECT_THROW(training->accumulate(one), GaveUp);
  expect_equal(training->weights(), weights);
  expect_equal(training->optimiser(), optimiser);
}

TEST_F(DecoderTrainingOnCpu, SaysWhichSettingsCannotBe) {
  auto half = settings();
  half.step.precision = Precision::Fp16;
  EXPECT_THROW(make(half), ConfigError);
  auto narrow = settings();
  narrow.window_frames = 4;
  EXPECT_THROW(make(narrow), ConfigError);
}

}  // namespace
}  // namespace myxtts::test::decoder_training_test
