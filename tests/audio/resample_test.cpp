// SPDX-License-Identifier: Apache-2.0
#include "audio/resample.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/formula_weights.h"
#include "support/golden.h"

namespace myxtts::test::resample_test {
namespace {

class ResampleRates : public testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {};

TEST_P(ResampleRates, EqualTheGoldenOfTorchaudio) {
  const auto [from, to] = GetParam();
  const auto golden = read_golden("audio/resample.safetensors");
  const auto noise = formula_values(fmt::format("noise.{}", from), {2, 1500});
  const auto result = Resampler(from, to, at::kCPU)(noise);
  EXPECT_LE(max_abs_difference(result, golden.at(fmt::format("{}.{}", from, to))), 2e-6);
}

// The last pair has no large divisor in common and takes the path for such rates.
INSTANTIATE_TEST_SUITE_P(Pairs, ResampleRates,
                         testing::Values(std::pair{44100, 22050}, std::pair{48000, 22050},
                                         std::pair{16000, 22050}, std::pair{8000, 22050},
                                         std::pair{32000, 22050}, std::pair{22050, 16000},
                                         std::pair{22050, 24000}, std::pair{22255, 22050}));

TEST(Resample, LengthsFollowTheSinglePrecisionCeilingOfThePeer) {
  const auto rows = read_golden("audio/resample.safetensors").at("lengths");
  int below_exact = 0;
  for (std::int64_t row = 0; row < rows.size(0); ++row) {
    const auto value = [&](int column) { return rows[row][column].item<std::int64_t>(); };
    EXPECT_EQ(Resampler(value(0), value(1), at::kCPU).resampled_length(value(2)), value(3))
        << value(2) << " samples from " << value(0) << " to " << value(1);
    const auto exact = (value(2) * value(1) + value(0) - 1) / value(0);
    below_exact += value(3) < exact ? 1 : 0;
  }
  EXPECT_GT(below_exact, 0) << "the golden has no case that an exact ceiling would get wrong";
}

TEST(Resample, OutputsHaveTheLengthThatWasForetold) {
  const Resampler resample(22050, 16000, at::kCPU);
  for (const std::int64_t samples : {1, 440, 441, 442, 90569}) {
    EXPECT_EQ(resample(at::zeros({samples})).numel(), resample.resampled_length(samples));
  }
}

TEST(Resample, RowsOfABatchDoNotTouchEachOther) {
  const Resampler resample(48000, 22050, at::kCPU);
  const auto batch = formula_values("batch", {3, 2, 4000});
  const auto all = resample(batch);
  EXPECT_EQ(all.dim(), 3);
  EXPECT_LE(max_abs_difference(all[2][1], resample(batch[2][1])), 1e-6);
}

TEST(Resample, RatesWithoutCommonDivisorGiveASineItsPlace) {
  // 44,101 Hz would need a kernel of 4 GB; a slow sine must come out as the same sine.
  const auto sine = [](std::int64_t count, double rate) {
    return at::sin(at::arange(count, at::kDouble) * (2 * 3.14159265358979 * 200.0 / rate))
        .to(at::kFloat);
  };
  const auto result = Resampler(44101, 22050, at::kCPU)(sine(4410, 44101.0));
  const auto inner = result.narrow(0, 100, 2000);
  EXPECT_LE(max_abs_difference(inner, sine(2200, 22050.0).narrow(0, 100, 2000)), 5e-3);
}

// With a gradient the convolution does the work, without one the CPU's filter.
TEST_P(ResampleRates, AreTheSameWithAndWithoutAGradient) {
  const auto [from, to] = GetParam();
  const Resampler resample(from, to, at::kCPU);
  for (const std::int64_t samples : {1, 13, 40, 1999}) {
    const auto noise = formula_values("gradient", {2, samples});
    const auto followed = resample(noise.clone().requires_grad_(true));
    EXPECT_TRUE(followed.requires_grad());
    EXPECT_LE(max_abs_difference(resample(noise), followed.detach()), 2e-6) << samples;
  }
}

TEST(Resample, TheSameRateGivesTheSameSamples) {
  const auto noise = formula_values("same", {100});
  EXPECT_TRUE(Resampler(22050, 22050, at::kCPU)(noise).equal(noise));
}

}  // namespace
}  // namespace myxtts::test::resample_test
