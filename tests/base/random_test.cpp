// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::random_test {
namespace {

using Counter = std::array<std::uint32_t, 4>;

TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(detail::philox({0, 0, 0, 0}, {0, 0}),
            (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(detail::philox({ones, ones, ones, ones}, {ones, ones}),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      detail::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Seeds are in users' configs and runs are resumed by later versions: these may never change.
TEST(RandomStream, KeepsItsNumbersForEver) {
  const RandomStream stream(1234, "data/shuffle");
  EXPECT_EQ(stream.bits(0), 0x32d10932006f2876u);
  EXPECT_EQ(stream.bits(1ULL << 40), 0x925727cd1d7c2e79u);
  EXPECT_EQ(stream.integer(5, -1000, 1000), 97);
  EXPECT_NEAR(stream.normal(7), -0.69944288733255366, 1e-12);
  EXPECT_EQ(stream.permutation(8), (std::vector<std::size_t>{0, 7, 5, 1, 3, 2, 6, 4}));
}

TEST(RandomStream, DependsOnSeedNameAndIndexAndNothingElse) {
  const RandomStream stream(1, "a");
  EXPECT_EQ(stream.bits(9), RandomStream(1, "a").bits(9));
  std::set<std::uint64_t> values;
  for (const std::uint64_t seed : {0ULL, 1ULL, 1ULL << 32, 1ULL << 63}) {
    for (const std::string name : {"", "a", "b", "ab", "ba", "a "}) {
      for (const std::uint64_t index : {0ULL, 1ULL, 1ULL << 32, ~0ULL}) {
        values.insert(RandomStream(seed, name).bits(index));
      }
    }
  }
  EXPECT_EQ(values.size(), 4u * 6u * 4u);
}

TEST(RandomStream, UniformNumbersFillTheIntervalEvenly) {
  const RandomStream stream(3, "uniform");
  std::array<int, 10> counts{};
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const double value = stream.uniform(i);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    ++counts[static_cast<std::size_t>(value * 10)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);  // five sigma
}

TEST(RandomStream, IntegersStayInTheirRangeAndReachItsEnds) {
  const RandomStream stream(3, "integer");
  std::map<std::int64_t, int> counts;
  for (std::uint64_t i = 0; i < 70'000; ++i) ++counts[stream.integer(i, -3, 3)];
  EXPECT_EQ(counts.size(), 7u);
  EXPECT_EQ(counts.begin()->first, -3);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 10'000, 500) << value;
  EXPECT_EQ(stream.integer(0, 42, 42), 42);
  EXPECT_THROW(stream.integer(0, 2, 1), InternalError);
}

TEST(RandomStream, IntegersOfAHugeRangeAreNotBiased) {
  // Of 3/4 of all words, a plain remainder would hit the lower third twice as often.
  const RandomStream stream(3, "bias");
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  const std::int64_t highest = std::int64_t{1} << 62;
  int lower_third = 0;
  for (std::uint64_t i = 0; i < 30'000; ++i) {
    const std::int64_t value = stream.integer(i, lowest, highest - 1);
    ASSERT_LT(value, highest);
    if (value < lowest / 2) ++lower_third;
  }
  EXPECT_NEAR(lower_third, 10'000, 500);
  std::set<bool> signs;
  for (std::uint64_t i = 0; i < 64; ++i) {
    signs.insert(stream.integer(i, lowest, std::numeric_limits<std::int64_t>::max()) < 0);
  }
  EXPECT_EQ(signs.size(), 2u);
}

TEST(RandomStream, NormalNumbersHaveTheMomentsOfTheNormalDistribution) {
  const RandomStream stream(3, "normal");
  constexpr int kCount = 200'000;
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  int within_one = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double value = stream.normal(i);
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
    fourths += value * value * value * value;
    if (std::abs(value) < 1) ++within_one;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.012);
  EXPECT_NEAR(squares / kCount, 1, 0.016);
  EXPECT_NEAR(fourths / kCount, 3, 0.11);
  EXPECT_NEAR(static_cast<double>(within_one) / kCount, 0.6827, 0.0053);
}

TEST(RandomStream, APermutationHoldsEveryNumberOnce) {
  const RandomStream stream(3, "order");
  for (const std::size_t count : {0u, 1u, 2u, 1000u}) {
    auto order = stream.permutation(count);
    ASSERT_EQ(order.size(), count);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(order[i], i);
  }
  EXPECT_NE(stream.permutation(1000), RandomStream(3, "order 2").permutation(1000));
}

TEST(RandomStream, EveryOrderOfThreeIsEquallyLikely) {
  std::map<std::vector<std::size_t>, int> counts;
  for (std::uint64_t seed = 0; seed < 12'000; ++seed) {
    ++counts[RandomStream(seed, "order").permutation(3)];
  }
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 2'000, 205);
}

}  // namespace
}  // namespace myxtts::random_test
