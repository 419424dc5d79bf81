// SPDX-License-Identifier: Apache-2.0
#include "synth/cpu/team.h"

#include <vector>

#include <gtest/gtest.h>

#include "support/effort.h"

namespace myxtts::team_test {
namespace {

TEST(Team, WorkAfterAMeetingSeesWhatEveryMemberDidBeforeIt) {
  constexpr std::size_t kMembers = 3;
  Team team(kMembers);
  team.start();
  const int rounds = test::repetitions(500);
  std::vector<int> before(kMembers, 0);  // plain, so that a race is one for the sanitizer
  std::vector<int> wrong(kMembers, 0);
  for (int round = 1; round <= rounds; ++round) {
    team.run([&](std::size_t member) {
      before[member] = round;
      team.meet();
      for (const int value : before) wrong[member] += value != round ? 1 : 0;
      team.meet();
    });
  }
  EXPECT_EQ(before, std::vector<int>(kMembers, rounds));
  EXPECT_EQ(wrong, std::vector<int>(kMembers, 0));
}

TEST(Team, RunReturnsOnlyWhenEveryMemberIsDone) {
  Team team(2);
  team.start();
  const int rounds = test::repetitions(500);
  int done = 0;
  for (int round = 0; round < rounds; ++round) {
    team.run([&](std::size_t member) {
      if (member == 1) ++done;
    });
    ASSERT_EQ(done, round + 1);
  }
}

TEST(Team, ATeamThatNeverWorkedEnds) {
  Team team(3);
  team.start();
}

TEST(Team, SharesCoverEverythingOnce) {
  for (const std::size_t members : {1U, 2U, 3U, 5U}) {
    std::size_t next = 0;
    for (std::size_t member = 0; member < members; ++member) {
      const Share share = share_of(7, member, members);
      EXPECT_EQ(share.first, next);
      next = share.last;
    }
    EXPECT_EQ(next, 7U);
  }
}

}  // namespace
}  // namespace myxtts::team_test
