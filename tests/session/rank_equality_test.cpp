// SPDX-License-Identifier: Apache-2.0
#include "session/ranks/rank_agreement.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "../parallel/rank_threads.h"
#include "support/plain_device.h"

namespace myxtts::test::rank_equality_test {
namespace {

struct Start {
  TrainingState state{.corpus = "0123456789abcdef", .rows = "seed 1", .batches = "4 clips"};
  RunConfig config = {};
};

// What each of three ranks says when the last one begins otherwise.
std::vector<std::string> said_with(const std::function<void(Start&)>& change) {
  return with_ranks(3, [&](RankTeam& team) {
    Start start;
    if (team.world().rank == 2) change(start);
    require_equal_data(team, start.state, start.config);
  });
}

TEST(RankEquality, RanksThatBeginAlikeGoOn) {
  const std::vector<std::string> nothing(3);
  EXPECT_EQ(said_with([](Start&) {}), nothing);
  EXPECT_EQ(said_with([](Start& start) { start.config.train.init = "/elsewhere"; }), nothing)
      << "a host may have the model in another place";
}

TEST(RankEquality, WhatDiffersIsNamedOnAllRanks) {
  using Change = std::function<void(Start&)>;
  const std::vector<std::pair<Change, std::string>> changes{
      {[](Start& start) { start.state.corpus[3] = 'x'; }, "Rank 2 has found other clips"},
      {[](Start& start) { start.config.train.lr = 1e-3; }, "Rank 2 and rank 0 differ in --lr."},
      {[](Start& start) { start.config.train.grad_clip = 2; }, "differ in --grad-clip."},
      {[](Start& start) { start.state.batches += "0"; }, "differ in the limits of clips"}};
  for (const auto& [change, sentence] : changes) {
    for (const std::string& said : said_with(change)) {
      EXPECT_NE(said.find(sentence), std::string::npos) << said;
    }
  }
}

TEST(RankEquality, OneBitOfOneWeightIsSeen) {
  for (const bool flipped : {false, true}) {
    const auto said = with_ranks(2, [&](RankTeam& team) {
      PlainDevice device;
      const NamedTensors weights{{"a", at::ones({3, 1000})}, {"b", at::zeros({7})}};
      const bool changes = flipped && team.world().rank == 1;
      if (changes) weights.at("a").view(at::kInt)[2][999].bitwise_xor_(1);
      require_equal_weights(team, device, weights);
    });
    EXPECT_EQ(said[0].find("The weights of rank 1 are no longer") == 0, flipped) << said[0];
    EXPECT_EQ(said[0], said[1]);
  }
}

}  // namespace
}  // namespace myxtts::test::rank_equality_test
