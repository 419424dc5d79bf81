// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_tensors.h"

#include <gtest/gtest.h>

#include "rank_threads.h"

namespace myxtts::test::rank_cards_test {
namespace {

std::vector<std::string> complaints(const std::vector<std::string>& cards) {
  return with_ranks(static_cast<int>(cards.size()), [&](RankTeam& team) {
    require_own_cards(team, cards[static_cast<std::size_t>(team.world().rank)]);
  });
}

TEST(RankCards, RanksMayHaveACardEachOrAllTheCpu) {
  for (const std::string& complaint : complaints({"ant 19:00.0", "ant 1a:00.0", "bee 19:00.0"})) {
    EXPECT_EQ(complaint, "");
  }
  for (const std::string& complaint : complaints({"", "", ""})) EXPECT_EQ(complaint, "");
  EXPECT_EQ(card_of(*open_role_device(Role::Model, RolePlan{})), "");
}

TEST(RankCards, TwoOnOneCardAreNamedByAll) {
  for (const std::string& complaint : complaints({"ant 19:00.0", "bee 19:00.0", "ant 19:00.0"})) {
    EXPECT_TRUE(complaint.starts_with("Ranks 0 and 2 are on one GPU, and NCCL")) << complaint;
    EXPECT_NE(complaint.find("myxtts launch --gpus all"), std::string::npos) << complaint;
  }
}

TEST(RankCards, SomeOnTheCpuAndSomeOnGpusAreNamedByAll) {
  for (const std::string& complaint : complaints({"ant 19:00.0", "", "ant 1a:00.0"})) {
    EXPECT_NE(complaint.find("rank 1 would train on the CPU and ranks 0, 2 on GPUs"),
              std::string::npos)
        << complaint;
  }
}

}  // namespace
}  // namespace myxtts::test::rank_cards_test
