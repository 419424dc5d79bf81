// SPDX-License-Identifier: Apache-2.0
#include "watch/curve.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace myxtts::curve_test {
namespace {

CurveBucket sum_of(std::span<const CurveBucket> buckets) {
  CurveBucket all;
  for (const CurveBucket& bucket : buckets) all.add(bucket);
  return all;
}

TEST(Curve, KeepsEveryValueOfAShortRun) {
  Curve curve;
  for (int step = 1; step <= 2000; ++step) curve.add(step, 1.0 / step);
  ASSERT_EQ(curve.buckets().size(), 2000U);
  EXPECT_EQ(curve.buckets()[6].first, 7);
  EXPECT_EQ(curve.buckets()[6].sum, 1.0 / 7);
  EXPECT_EQ(curve.lowest_step(), 2000);
  EXPECT_EQ(curve.last(), 1.0 / 2000);
}

// Where a spike lies, and how long the run is, must not decide whether it is seen.
TEST(Curve, NeverLosesAnExtremeHoweverLongTheRunIs) {
  std::mt19937_64 random(7);
  for (const int lines : {1, 2, 2047, 2048, 2049, 5000, 100'000, 300'001}) {
    const auto highest = static_cast<std::int64_t>(random() % static_cast<unsigned>(lines)) + 1;
    const auto lowest = static_cast<std::int64_t>(random() % static_cast<unsigned>(lines)) + 1;
    Curve curve;
    for (std::int64_t step = 1; step <= lines; ++step) {
      curve.add(step, step == highest ? 99.0 : step == lowest ? -99.0 : 1.0);
    }
    EXPECT_LE(curve.buckets().size(), Curve::kMost);
    for (const std::size_t most : {1U, 2U, 3U, 10U, 777U, 4000U}) {
      const auto shown = downsampled(curve.buckets(), most);
      ASSERT_LE(shown.size(), most);
      const CurveBucket all = sum_of(shown);
      EXPECT_EQ(all.max, 99.0) << lines << " lines in " << most;
      EXPECT_EQ(all.min, lines > 1 && highest != lowest ? -99.0 : all.min);
      EXPECT_EQ(all.lines, lines);
      EXPECT_EQ(all.first, 1);
      EXPECT_EQ(all.last, lines);
      for (std::size_t i = 1; i < shown.size(); ++i) {
        ASSERT_EQ(shown[i].first, shown[i - 1].last + 1) << "a gap, or a line twice";
      }
    }
  }
}

TEST(Curve, GivesTheBucketsThatTouchARange) {
  Curve curve;
  for (int step = 10; step <= 100; step += 10) curve.add(step, step);
  EXPECT_EQ(sum_of(curve.between(20, 40)).lines, 3);
  EXPECT_EQ(sum_of(curve.between(21, 39)).lines, 1);
  EXPECT_EQ(curve.between(41, 49).size(), 0U);
  EXPECT_EQ(curve.between(101, 1000).size(), 0U);
  EXPECT_EQ(sum_of(curve.between(0, 1000)).lines, 10);
}

TEST(Curve, CountsWhatIsNoNumberAndAveragesTheRest) {
  Curve curve;
  curve.add(1, 2.0);
  curve.add(2, std::nan(""));
  curve.add(3, 4.0);
  const CurveBucket all = downsampled(curve.buckets(), 1).front();
  EXPECT_EQ(all.lines, 3);
  EXPECT_EQ(all.finite, 2);
  EXPECT_EQ(mean_of(all), 3.0);
  curve.add(4, std::nan(""));
  EXPECT_FALSE(curve.last());
  EXPECT_TRUE(std::isnan(mean_of(CurveBucket::of_line(1, INFINITY))));
}

}  // namespace
}  // namespace myxtts::curve_test
