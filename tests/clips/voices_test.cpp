// SPDX-License-Identifier: Apache-2.0
#include "clips/voices.h"

#include <gtest/gtest.h>

#include <ATen/ATen.h>

namespace myxtts::test::voices_test {
namespace {

// Rows near one of some directions.
at::Tensor near(const std::vector<std::int64_t>& which, double spread = 0.1) {
  auto rows = at::randn({std::ssize(which), 16}) * spread;
  for (std::size_t i = 0; i < which.size(); ++i) {
    rows[static_cast<std::int64_t>(i)][which[i]] += 1.0;
  }
  return rows / rows.norm(2, {1}, true);
}

TEST(Voices, AreGroupedByLikenessAndNumberedByTheirSeconds) {
  const std::vector<std::int64_t> who{3, 5, 5, 3, 7, 5, 5, 3};
  const std::vector<double> seconds{1, 2, 2, 1, 30, 2, 2, 1};
  EXPECT_EQ(group_voices(near(who), seconds, 0.6),
            (std::vector<std::int64_t>{2, 1, 1, 2, 0, 1, 1, 2}));
}

TEST(Voices, NothingIsMergedThatIsNotAlikeEnough) {
  const std::vector<std::int64_t> who{0, 1, 0, 1};
  const std::vector<double> seconds{4, 1, 4, 1};
  EXPECT_EQ(group_voices(near(who), seconds, -1.0), (std::vector<std::int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(group_voices(near(who), seconds, 0.6), (std::vector<std::int64_t>{0, 1, 0, 1}));
  EXPECT_TRUE(group_voices(at::empty({0, 4}), {}, 0.6).empty());
}

TEST(Voices, ThousandsAreGroupedToo) {
  std::vector<std::int64_t> who;
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < 2600; ++i) {
    who.push_back(i % 3 == 0 ? 1 : 0);
    seconds.push_back(1.0 + static_cast<double>(i % 5));
  }
  const auto groups = group_voices(near(who, 0.02), seconds, 0.6);
  for (std::size_t i = 0; i < who.size(); ++i) ASSERT_EQ(groups[i], who[i]) << i;
}

TEST(Voices, TheMeanOfAGroupIsOfLengthOneAndWeighted) {
  const auto voices = at::eye(3);
  const auto means =
      means_of_groups(voices, std::vector{3.0, 1.0, 2.0}, std::vector<std::int64_t>{0, 0, 1});
  EXPECT_NEAR(means[0].norm().item<double>(), 1.0, 1e-6);
  EXPECT_NEAR((means[0][0] / means[0][1]).item<double>(), 3.0, 1e-5);
  EXPECT_NEAR(means[1][2].item<double>(), 1.0, 1e-6);
}

}  // namespace
}  // namespace myxtts::test::voices_test
