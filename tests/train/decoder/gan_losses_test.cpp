// SPDX-License-Identifier: Apache-2.0
#include "train/decoder/gan_losses.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "model/discriminators.h"
#include "model/named_tensors.h"
#include "support/every_tensor_matters.h"
#include "support/golden.h"

namespace myxtts::test::gan_losses_test {
namespace {

constexpr std::int64_t kRate = 24000;
constexpr std::int64_t kSamples = 2048;

DiscriminatorConfig small_discriminators() {
  return discriminators_for({.initial_channels = 16});
}

// All that training adds up, of what was made.
struct GeneratorLoss {
  explicit GeneratorLoss(const NamedTensors& weights, at::Tensor sound)
      : judges(small_discriminators(), weights), wanted(std::move(sound)) {}

  at::Tensor operator()(const at::Tensor& made) const {
    const auto of_made = judges(made, at::kFloat);
    const auto of_wanted = judges(wanted, at::kFloat);
    return (45 * mel(made, wanted) + 2 * feature_loss(of_wanted, of_made) +
            adversarial_loss(of_made))
        .mean();
  }

  Discriminators judges;
  MelError mel = MelError(kRate, c10::kCPU);
  at::Tensor wanted;
};

at::Tensor noise(std::uint64_t seed) {
  at::manual_seed(seed);
  return at::randn({2, kSamples}) * 0.2;
}

// Along random directions: what the loss changes by is what the gradient says.
TEST(GanLosses, OfTheDecoderHaveTheGradientOfFiniteDifferences) {
  const GeneratorLoss loss(initialise(discriminator_specs(small_discriminators()), 3), noise(1));
  const auto made = noise(2).requires_grad_(true);
  loss(made).backward();
  const at::NoGradGuard no_grad;
  for (std::uint64_t seed = 3; seed < 6; ++seed) {
    // Half along the gradient, so that the change stands out of fp32's noise and of the corners of
    // absolute values.
    const auto along = made.grad() / made.grad().norm();
    const auto other = noise(seed);
    const auto direction = along + 0.5 * other / other.norm();
    const double step = 2e-3;
    const double change = (loss(made + step * direction) - loss(made - step * direction))
                              .to(at::kDouble)
                              .item<double>() /
                          (2 * step);
    const double said = (made.grad() * direction).sum().item<double>();
    EXPECT_NEAR(change / said, 1.0, 0.02) << seed;
  }
}

TEST(GanLosses, AreZeroWhereNothingIsLeftToLearn) {
  const Discriminators judges(small_discriminators(),
                              initialise(discriminator_specs(small_discriminators()), 3));
  const auto same = judges(noise(1), at::kFloat);
  EXPECT_EQ(feature_loss(same, same).abs().max().item<double>(), 0.0);
  EXPECT_EQ(MelError(kRate, c10::kCPU)(noise(1), noise(1)).abs().max().item<double>(), 0.0);
  Judgement right = same;
  for (auto& scores : right.scores) scores = at::ones_like(scores);
  Judgement wrong = same;
  for (auto& scores : wrong.scores) scores = at::zeros_like(scores);
  EXPECT_EQ(adversarial_loss(right).max().item<double>(), 0.0);
  EXPECT_EQ(discriminator_loss(right, wrong).max().item<double>(), 0.0);
  EXPECT_EQ(adversarial_loss(wrong).max().item<double>(), 8.0);  // one of each discriminator
  EXPECT_EQ(discriminator_loss(wrong, right).max().item<double>(), 16.0);
}

// Each window has its own, so that one without weight has no part.
TEST(GanLosses, OfAWindowDoNotDependOnTheOthers) {
  const Discriminators judges(small_discriminators(),
                              initialise(discriminator_specs(small_discriminators()), 3));
  const auto losses = [&](const at::Tensor& made, const at::Tensor& wanted) {
    const auto of_made = judges(made, at::kFloat);
    const auto of_wanted = judges(wanted, at::kFloat);
    return at::stack({MelError(kRate, c10::kCPU)(made, wanted), feature_loss(of_wanted, of_made),
                      adversarial_loss(of_made), discriminator_loss(of_wanted, of_made)});
  };
  const auto both = losses(noise(1), noise(2));
  const auto second = losses(noise(1).narrow(0, 1, 1), noise(2).narrow(0, 1, 1));
  EXPECT_LE(relative_error(both.narrow(1, 1, 1), second), 1e-5);
  EXPECT_GT(relative_error(both.narrow(1, 0, 1), second), 1e-3);
}

TEST(Discriminators, EveryTensorMatters) {
  const auto outputs = [](const NamedTensors& tensors) {
    const auto judgement = Discriminators(small_discriminators(), tensors)(noise(1), at::kFloat);
    std::vector<at::Tensor> scores;
    for (const auto& score : judgement.scores) scores.push_back(score.flatten());
    return at::cat(scores);
  };
  EXPECT_EQ(
      tensors_without_effect(initialise(discriminator_specs(small_discriminators()), 3), outputs),
      std::vector<std::string>());
}

TEST(Discriminators, GrowWithTheDecoder) {
  EXPECT_EQ(discriminators_for({}), DiscriminatorConfig{});
  EXPECT_EQ(discriminators_for({.initial_channels = 256}).period_channels,
            (std::vector<std::int64_t>{8, 32, 128, 256, 256}));
  EXPECT_EQ(discriminators_for({.initial_channels = 64}).spectrum_channels, 4);
}

// A gain twice as large is a scale twice as large: the mel error is the distance of logarithms.
TEST(MelError, OfSoundTwiceAsLoudIsTheLogarithmOfTwo) {
  const auto sound = noise(1);
  const auto error = MelError(kRate, c10::kCPU)(2 * sound, sound);
  EXPECT_NEAR(error[0].item<double>(), std::log(2.0), 1e-3);
}

TEST(MelError, HasFiniteGradientsInSilence) {
  const auto made = at::zeros({1, kSamples}).requires_grad_(true);
  MelError(kRate, c10::kCPU)(made, noise(1).narrow(0, 0, 1)).sum().backward();
  EXPECT_TRUE(made.grad().isfinite().all().item<bool>());
}

// A click that is late by three milliseconds: only short windows tell it from one in time.
TEST(MelError, HearsWhenAndAtWhichPitch) {
  const MelError error(kRate, c10::kCPU);
  const auto click = at::zeros({1, kSamples});
  click[0][1000] = 1;
  EXPECT_GT(error(click.roll({72}, {1}), click).item<double>(), 0.5);
  const auto tone = [](double hertz) {
    return (at::arange(kSamples) * (2 * 3.141592653589793 * hertz / kRate)).sin().unsqueeze(0);
  };
  EXPECT_GT(error(tone(220), tone(200)).item<double>(), 0.1);
}

}  // namespace
}  // namespace myxtts::test::gan_losses_test
