// SPDX-License-Identifier: Apache-2.0
#include "train/weight_histograms.h"

#include <limits>
#include <numeric>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace myxtts::weight_histograms_test {
namespace {

TEST(WeightHistograms, EveryValueIsCountedOnceInItsRange) {
  const auto found = weight_histograms({{"w", at::linspace(-1, 1, 129).reshape({3, 43})}});
  const HistogramCounts& counts = found.at("w");
  EXPECT_EQ(counts.least, -1);
  EXPECT_EQ(counts.most, 1);
  EXPECT_EQ(counts.count, 129);
  EXPECT_NEAR(counts.sum, 0, 1e-6);
  EXPECT_NEAR(counts.sum_of_squares, 129.0 / 3, 1.0);
  ASSERT_EQ(counts.counts.size(), counts.upper_bounds.size());
  EXPECT_EQ(std::accumulate(counts.counts.begin(), counts.counts.end(), 0.0), 129);
  EXPECT_EQ(counts.counts.front(), 2);
  EXPECT_EQ(counts.upper_bounds.back(), 1);
}

TEST(WeightHistograms, EqualValuesAreOneRangeAndWhatHasNoneIsLeftOut) {
  auto broken = at::ones({4});
  broken[2] = std::numeric_limits<float>::infinity();
  const auto found = weight_histograms({{"same", at::full({7}, 0.5)},
                                        {"broken", broken},
                                        {"none", at::empty({0})},
                                        {"ids", at::arange(3)}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("same").upper_bounds, (std::vector<double>{0.5}));
  EXPECT_EQ(found.at("same").counts, (std::vector<double>{7}));
}

}  // namespace
}  // namespace myxtts::weight_histograms_test
