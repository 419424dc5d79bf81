// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_team.h"

#include <array>
#include <chrono>
#include <latch>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "rank_threads.h"

namespace myxtts::test::rank_team_test {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kNone3(3);

TEST(RankTeam, SumsAreTheSameBitsOnEveryRank) {
  std::vector<at::Tensor> sums(3);
  at::Tensor wanted = at::zeros({10'001}, at::kDouble);
  for (int rank = 0; rank < 3; ++rank) {
    wanted += at::sin(at::arange(10'001, at::kFloat) * (rank + 1)).to(at::kDouble);
  }
  const auto failures = with_ranks(3, [&](RankTeam& team) {
    const int rank = team.world().rank;
    auto numbers = at::sin(at::arange(10'001, at::kFloat) * (rank + 1));
    team.all_reduce(numbers);
    sums[static_cast<std::size_t>(rank)] = numbers;
  });
  EXPECT_EQ(failures, kNone3);
  EXPECT_TRUE(sums[0].equal(sums[1]));
  EXPECT_TRUE(sums[0].equal(sums[2]));
  EXPECT_LT((sums[0] - wanted).abs().max().item<double>(), 1e-6);
}

TEST(RankTeam, SeveralSumsMayBeUnderWay) {
  const auto failures = with_ranks(3, [&](RankTeam& team) {
    std::vector<at::Tensor> tensors;
    std::vector<std::function<void()>> sums;
    for (int i = 0; i < 8; ++i) {
      tensors.push_back(at::full({1000}, static_cast<float>(i + team.world().rank)));
      sums.push_back(team.begin_all_reduce(tensors.back()));
    }
    for (const auto& wait : sums) wait();
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(tensors[static_cast<std::size_t>(i)][7].item<float>(),
                static_cast<float>(3 * i + 3));
    }
  });
  EXPECT_EQ(failures, kNone3);
}

TEST(RankTeam, NumbersAndWordsGoFromOneToAll) {
  const auto failures = with_ranks(3, [&](RankTeam& team) {
    const int rank = team.world().rank;
    auto numbers = at::full({5}, rank, at::kLong);
    team.broadcast(numbers);
    EXPECT_EQ(numbers.sum().item<std::int64_t>(), 0);
    numbers.fill_(rank);
    team.broadcast(numbers, 2);
    EXPECT_EQ(numbers.sum().item<std::int64_t>(), 10);
    EXPECT_EQ(team.broadcast(rank == 0 ? std::string("runs/a") : "longer than that"), "runs/a");
    EXPECT_EQ(team.broadcast(rank == 0 ? "" : "something"), "");
    const std::array<double, 2> own{rank + 0.5, -1.0 * rank};
    EXPECT_EQ(team.all_gather(own), (std::vector<double>{0.5, 0, 1.5, -1, 2.5, -2}));
    team.barrier();
  });
  EXPECT_EQ(failures, kNone3);
}

// The mutation to fear: an end that waits for the timeout, or names nobody.
TEST(RankTeam, AllTellWhyOneOfThemEnded) {
  constexpr auto kTimeout = 100s;
  const auto began = std::chrono::steady_clock::now();
  const auto failures = with_ranks(
      3,
      [&](RankTeam& team) {
        team.barrier();
        if (team.world().rank == 1) {
          team.announce_failure("Its disk is full.");
          return;
        }
        std::this_thread::sleep_for(700ms);  // so that the word has come
        auto numbers = at::ones({100});
        team.all_reduce(numbers);
      },
      kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - began, kTimeout / 2);
  for (const int rank : {0, 2}) {
    EXPECT_NE(failures[static_cast<std::size_t>(rank)].find("rank 1 of 3 ended: Its disk is full."),
              std::string::npos)
        << failures[static_cast<std::size_t>(rank)];
  }
  EXPECT_EQ(failures[1], "");
}

TEST(RankTeam, ARankThatIsSilentIsNamedAfterTheTimeout) {
  std::latch given_up(2);
  const auto failures = with_ranks(
      3,
      [&](RankTeam& team) {
        if (team.world().rank == 2) return given_up.wait();
        auto numbers = at::ones({100});
        try {
          team.all_reduce(numbers);
        } catch (...) {
          given_up.count_down();
          throw;
        }
        given_up.count_down();
      },
      1s);
  // Its pulse goes on, so nobody can say who it is; but that the run ends, and after how long.
  for (const int rank : {0, 1}) {
    EXPECT_NE(failures[static_cast<std::size_t>(rank)].find("--rank-timeout 1"), std::string::npos)
        << failures[static_cast<std::size_t>(rank)];
  }
}

TEST(RankTeam, ThoseWhoDoNotComeAreNamed) {
  try {
    const RankTeam team({.rank = 0, .size = 3, .address = "127.0.0.1", .port = free_port()}, 300ms);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("Of 3 ranks ranks 1, 2 did not come"),
              std::string::npos)
        << error.what();
  }
}

TEST(RankTeam, AFollowerSaysWhereItLookedForRank0) {
  const int port = free_port();
  try {
    const RankTeam team({.rank = 1, .size = 2, .address = "127.0.0.1", .port = port}, 500ms);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find(fmt::format("rank 0 at 127.0.0.1:{}", port)),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace myxtts::test::rank_team_test
