// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw/adamw.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "adamw_arrays.h"
#include "kernels/adamw/adamw_numbers.h"

namespace myxtts::test::adamw_test {
namespace {

constexpr std::int64_t kCount = 8 * kAdamWAlignment;
constexpr double kRate = 1e-2;
constexpr double kDecay = 0.01;

// Ten updates with gradients that change, by LibTorch's own AdamW.
at::Tensor expected_weights(double clip) {
  const AdamWTensors start({}, kCount, c10::kCPU);
  const std::int64_t decayed = start.arrays().decayed;
  std::vector<at::Tensor> halves = {start.weights.narrow(0, 0, decayed).clone(),
                                    start.weights.narrow(0, decayed, kCount - decayed).clone()};
  std::vector<at::Tensor> means = {at::zeros_like(halves[0]), at::zeros_like(halves[1])};
  std::vector<at::Tensor> squares = {at::zeros_like(halves[0]), at::zeros_like(halves[1])};
  std::vector<at::Tensor> steps = {at::zeros({}), at::zeros({})};
  for (int step = 1; step <= 10; ++step) {
    auto gradient = start.gradients * std::cos(step);
    const double norm = gradient.norm().item<double>();
    if (clip > 0) gradient = gradient * std::min(1.0, clip / (norm + 1e-6));
    for (std::size_t half = 0; half < 2; ++half) {
      steps[half].add_(1);
      const auto own = half == 0 ? gradient.narrow(0, 0, decayed)
                                 : gradient.narrow(0, decayed, kCount - decayed);
      at::_fused_adamw_({halves[half]}, {own.clone()}, {means[half]}, {squares[half]}, {},
                        {steps[half]}, kRate, 0.9, 0.96, half == 0 ? kDecay : 0.0, 1e-8,
                        /*amsgrad=*/false, /*maximize=*/false);
    }
  }
  return at::cat(halves);
}

at::Tensor found_weights(const AdamWFormats& formats, double clip) {
  AdamWTensors tensors(formats, kCount, c10::kCPU);
  const auto gradient = tensors.gradients.clone();
  const auto adamw = make_cpu_adamw({.clip = clip});
  for (int step = 1; step <= 10; ++step) {
    tensors.gradients.copy_(gradient * std::cos(step));
    adamw->prepare({}, tensors.state_pointer(), step, kRate);
    adamw->update({}, tensors.arrays(), tensors.state_pointer());
  }
  return tensors.weights;
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(AdamW, EqualsLibTorchsToRounding) {
  EXPECT_LE(largest_difference(found_weights({}, 0.0), expected_weights(0.0)), 1e-6);
}

TEST(AdamW, ClippedGradientsTooAndClippingDoesSomething) {
  const auto wanted = expected_weights(1e-4);
  EXPECT_LE(largest_difference(found_weights({}, 1e-4), wanted), 1e-6);
  EXPECT_GT(largest_difference(found_weights({}, 0.0), wanted), 1e-4);
}

// The ten steps move a weight by up to 0.1; moments that are off by some percent move it by some
// percent more or less.
TEST(AdamW, ShortMomentsLeadToNearlyTheSameWeights) {
  const auto wanted = expected_weights(0.0);
  const auto bf16 = (found_weights({.moments = Moments::Bf16}, 0.0) - wanted).abs();
  EXPECT_LE(bf16.max().item<double>(), 2e-3);
  const auto eight = (found_weights({.moments = Moments::EightBit}, 0.0) - wanted).abs();
  EXPECT_LE(eight.max().item<double>(), 4e-2);
  EXPECT_LE(eight.mean().item<double>(), 2e-3);
}

TEST(AdamW, AStepThatIsNotFiniteChangesNothingAndIsReported) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    AdamWTensors tensors({}, kCount, c10::kCPU);
    const auto weights = tensors.weights.clone();
    tensors.gradients[kCount - 1] = bad;
    const auto adamw = make_cpu_adamw({});
    adamw->prepare({}, tensors.state_pointer(), 3, kRate);
    adamw->update({}, tensors.arrays(), tensors.state_pointer());
    EXPECT_TRUE(at::equal(tensors.weights, weights));
    EXPECT_EQ(tensors.means.count_nonzero().item<std::int64_t>(), 0);
    EXPECT_EQ(tensors.gradients.count_nonzero().item<std::int64_t>(), 0);
    EXPECT_EQ(tensors.read_state().applied, 0);
    EXPECT_EQ(tensors.read_state().report.skipped, 1);
    EXPECT_EQ(tensors.read_state().report.step, 3);
  }
}

TEST(AdamW, TheLossScaleIsHalvedByAnOverflowAndDoubledAfterManyGoodSteps) {
  const AdamWRule rule = {.scaled_loss = true};
  UpdateState state;
  state.loss_scale = kFirstLossScale;
  adamw::decide(rule, state, std::numeric_limits<double>::infinity());
  EXPECT_EQ(state.skip, 1);
  EXPECT_EQ(state.loss_scale, kFirstLossScale / 2);
  for (std::int64_t step = 1; step < kGoodStepsToDouble; ++step) adamw::decide(rule, state, 1.0);
  EXPECT_EQ(state.loss_scale, kFirstLossScale / 2);
  adamw::decide(rule, state, 1.0);
  EXPECT_EQ(state.loss_scale, kFirstLossScale);
  EXPECT_EQ(state.applied, kGoodStepsToDouble);
}

TEST(AdamW, ScaledGradientsAreUnscaledAndTheNormIsThatOfTheLoss) {
  AdamWTensors plain({}, kCount, c10::kCPU);
  AdamWTensors scaled({}, kCount, c10::kCPU);
  scaled.gradients.mul_(1024.0);
  UpdateState state;
  state.loss_scale = 1024.0F;
  scaled.write_state(state);
  for (auto* tensors : {&plain, &scaled}) {
    const auto adamw = make_cpu_adamw({.scaled_loss = true});
    adamw->prepare({}, tensors->state_pointer(), 1, kRate);
    adamw->update({}, tensors->arrays(), tensors->state_pointer());
  }
  EXPECT_LE(largest_difference(plain.weights, scaled.weights), 1e-7);
  EXPECT_NEAR(scaled.read_state().report.gradient_norm, plain.read_state().report.gradient_norm,
              1e-6);
}

TEST(AdamW, PartByPartEqualsTheWhole) {
  AdamWTensors whole({}, kCount, c10::kCPU);
  AdamWTensors parts({}, kCount, c10::kCPU);
  const std::int64_t odd = 3 * kAdamWAlignment - 77;  // its last block is not full
  whole.gradients.narrow(0, odd, 77).zero_();
  const auto adamw = make_cpu_adamw({});
  adamw->prepare({}, whole.state_pointer(), 1, kRate);
  const auto gradient = whole.gradients.clone();
  adamw->update({}, whole.arrays(), whole.state_pointer());

  adamw->prepare({}, parts.state_pointer(), 1, kRate);
  adamw->begin({}, parts.state_pointer());
  const auto apply = [&](std::int64_t first, std::int64_t count) {
    const auto own = gradient.narrow(0, first, count).clone();
    adamw->apply_part({}, parts.arrays(),
                      {.first = first, .count = count, .gradients = own.const_data_ptr()},
                      parts.state_pointer());
  };
  apply(3 * kAdamWAlignment, 5 * kAdamWAlignment);
  apply(0, odd);
  adamw->finish({}, parts.arrays(), parts.state_pointer());
  EXPECT_TRUE(at::equal(parts.weights, whole.weights));
  EXPECT_TRUE(at::equal(parts.squares, whole.squares));
  EXPECT_NEAR(parts.read_state().report.gradient_norm, whole.read_state().report.gradient_norm,
              1e-9);
}

// As the ranks of a run do, each with its own part.
TEST(AdamW, RanksThatUpdateTheirPartsUpdateTheWhole) {
  for (const Moments moments : {Moments::Fp32, Moments::Bf16, Moments::EightBit}) {
    const AdamWFormats formats{.moments = moments};
    AdamWTensors whole(formats, kCount, c10::kCPU);
    AdamWTensors parts(formats, kCount, c10::kCPU);
    const auto gradient = whole.gradients.clone();
    const auto adamw = make_cpu_adamw({.clip = 1e-3});
    for (int step = 1; step <= 3; ++step) {
      whole.gradients.copy_(gradient * std::cos(step));
      adamw->prepare({}, whole.state_pointer(), step, kRate);
      adamw->update({}, whole.arrays(), whole.state_pointer());
      const auto state = parts.state.clone();
      for (const std::int64_t first : {std::int64_t{0}, 3 * kAdamWAlignment}) {
        parts.state.copy_(state);
        parts.gradients.copy_(gradient * std::cos(step));
        AdamWArrays arrays = parts.arrays();
        arrays.own_first = first;
        arrays.own_count = first == 0 ? 3 * kAdamWAlignment : kCount - 3 * kAdamWAlignment;
        adamw->prepare({}, parts.state_pointer(), step, kRate);
        adamw->update({}, arrays, parts.state_pointer());
      }
    }
    EXPECT_TRUE(whole.weights.equal(parts.weights));
    EXPECT_EQ(whole.state_pointer()->report.gradient_norm,
              parts.state_pointer()->report.gradient_norm);
  }
}

TEST(AdamW, GradientsOfSeveralBatchesAreAddedInFp32) {
  AdamWTensors tensors({.gradient = at::kBFloat16, .copy = at::kBFloat16}, kCount, c10::kCPU);
  const auto gradient = tensors.gradients.clone();
  const auto sums = at::zeros({kCount});
  const auto adamw = make_cpu_adamw({});
  for (int batch = 0; batch < 300; ++batch) {
    tensors.gradients.copy_(gradient);
    adamw->add_up({}, tensors.arrays(), sums.mutable_data_ptr<float>());
  }
  EXPECT_LE(largest_difference(sums / 300.0, gradient.to(at::kFloat)), 1e-6);
  EXPECT_EQ(tensors.gradients.count_nonzero().item<std::int64_t>(), 0);
}

// Rounding at random keeps the mean: a number between two codes becomes each as often as it is near
// to it.
template <int kBits>
double mean_of_codes(float number) {
  double sum = 0;
  constexpr std::uint32_t kDraws = 1 << 16;
  for (std::uint32_t random = 0; random < kDraws; ++random) {
    sum += static_cast<double>(adamw::decode<kBits>(adamw::encode<kBits>(number, random)));
  }
  return sum / kDraws;
}

TEST(AdamW, EightBitsKeepTheMeanOfEveryNumber) {
  for (const float number : {1.0F, 0.77F, 0.123F, 1e-2F, 1e-3F, 5e-5F, 2e-5F, 1e-6F, 0.0F}) {
    EXPECT_NEAR(mean_of_codes<adamw::kMeanBits>(number), static_cast<double>(number),
                1e-3 * static_cast<double>(number) + 1e-9)
        << number;
    EXPECT_NEAR(mean_of_codes<adamw::kSquareBits>(number), static_cast<double>(number),
                1e-3 * static_cast<double>(number) + 1e-9)
        << number;
  }
}

TEST(AdamW, EveryCodeIsANumberOfItsOwnThatComesBack) {
  for (std::uint32_t code = 1; code < 128; ++code) {
    const float number = adamw::decode<adamw::kMeanBits>(code);
    EXPECT_GT(number, adamw::decode<adamw::kMeanBits>(code - 1));
    EXPECT_EQ(adamw::encode<adamw::kMeanBits>(number, 0xffff), code);
  }
  EXPECT_EQ(adamw::decode<adamw::kMeanBits>(127), adamw::top<adamw::kMeanBits>());
  for (std::uint32_t code = 1; code < 256; ++code) {
    const float number = adamw::decode<adamw::kSquareBits>(code);
    EXPECT_EQ(adamw::encode<adamw::kSquareBits>(number, 0), code);
  }
  EXPECT_EQ(adamw::decode_mean(adamw::encode_mean(-1.0F, 0)), -1.0F);
}

// A square that was large once is forgotten, as its average is in fp32.
TEST(AdamW, ShortSquaresDecayAsLongOnesDo) {
  for (const Moments moments : {Moments::Bf16, Moments::EightBit}) {
    AdamWTensors tensors({.moments = moments}, kCount, c10::kCPU);
    const auto adamw = make_cpu_adamw({});
    AdamWTensors exact({}, kCount, c10::kCPU);
    for (int step = 1; step <= 60; ++step) {
      for (auto* each : {&tensors, &exact}) {
        each->gradients.fill_(step == 1 ? 1.0 : 0.0);
        adamw->prepare({}, each->state_pointer(), step, kRate);
        adamw->update({}, each->arrays(), each->state_pointer());
      }
    }
    const double wanted = exact.squares[0].item<double>();
    const auto squares =
        moments == Moments::Bf16
            ? tensors.squares.to(at::kFloat)
            : (tensors.squares.to(at::kFloat) * 0 +  // by the scale: all of a block are equal
               tensors.square_scales.repeat_interleave(kAdamWBlock) *
                   adamw::top<adamw::kSquareBits>())
                  .square();
    EXPECT_NEAR(squares.mean().item<double>() / wanted, 1.0, 0.2) << static_cast<int>(moments);
  }
}

}  // namespace
}  // namespace myxtts::test::adamw_test
