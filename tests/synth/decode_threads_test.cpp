// SPDX-License-Identifier: Apache-2.0
#include "synth/cpu/decode_threads.h"

#include <vector>

#include <gtest/gtest.h>

#include "support/effort.h"

namespace myxtts::decode_threads_test {
namespace {

TEST(DecodeThreads, WorkAfterABarrierSeesWhatEveryMemberDidBeforeIt) {
  constexpr std::size_t kMembers = 3;
  DecodeThreads threads(kMembers);
  threads.start();
  const int rounds = test::repetitions(500);
  std::vector<int> before(kMembers, 0);  // plain, so that a race is one for the sanitizer
  std::vector<int> wrong(kMembers, 0);
  for (int round = 1; round <= rounds; ++round) {
    threads.run([&](std::size_t member) {
      before[member] = round;
      threads.barrier();
      for (const int value : before) wrong[member] += value != round ? 1 : 0;
      threads.barrier();
    });
  }
  EXPECT_EQ(before, std::vector<int>(kMembers, rounds));
  EXPECT_EQ(wrong, std::vector<int>(kMembers, 0));
}

TEST(DecodeThreads, RunReturnsOnlyWhenEveryMemberIsDone) {
  DecodeThreads threads(2);
  threads.start();
  const int rounds = test::repetitions(500);
  int done = 0;
  for (int round = 0; round < rounds; ++round) {
    threads.run([&](std::size_t member) {
      if (member == 1) ++done;
    });
    ASSERT_EQ(done, round + 1);
  }
}

TEST(DecodeThreads, ThreadsThatNeverWorkedEnd) {
  DecodeThreads threads(3);
  threads.start();
}

TEST(DecodeThreads, SharesCoverEverythingOnce) {
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
}  // namespace myxtts::decode_threads_test
