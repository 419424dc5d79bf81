// SPDX-License-Identifier: Apache-2.0
//
// What each rank has of something: cores, and parts of an array.
#include <gtest/gtest.h>

#include "base/error.h"
#include "parallel/world.h"

namespace myxtts::test::shares_test {
namespace {

TEST(CoreShare, EveryCoreIsOneRanksWhereThereAreEnough) {
  const std::vector<int> cores{0, 1, 2, 3, 8, 9, 10};
  std::vector<int> all;
  for (int rank = 0; rank < 3; ++rank) {
    const auto own = share_of(cores, rank, 3);
    EXPECT_GE(own.size(), 2U);
    all.insert(all.end(), own.begin(), own.end());
  }
  EXPECT_EQ(all, cores);
}

TEST(CoreShare, ScarceCoresAreTakenInTurn) {
  EXPECT_EQ(share_of({4, 5}, 0, 3), std::vector<int>{4});
  EXPECT_EQ(share_of({4, 5}, 1, 3), std::vector<int>{5});
  EXPECT_EQ(share_of({4, 5}, 2, 3), std::vector<int>{4});
}

TEST(ArrayParts, AreTheWholeArrayInUnits) {
  for (const int size : {1, 2, 3, 7, 64}) {
    std::int64_t next = 0;
    for (int rank = 0; rank < size; ++rank) {
      const ArrayPart part = part_of_rank(41 * 1024, 1024, rank, size);
      EXPECT_EQ(part.first, next);
      EXPECT_EQ(part.count % 1024, 0);
      EXPECT_LE(part.count, (41 / size + 1) * 1024);
      next += part.count;
    }
    EXPECT_EQ(next, 41 * 1024);
  }
}

TEST(LocalAddress, IsWhereTheOtherSideReachesUs) {
  EXPECT_EQ(local_address_towards("127.0.0.1", 29500), "127.0.0.1");
  EXPECT_EQ(local_address_towards("localhost", 29500).find(':') == std::string::npos
                ? local_address_towards("localhost", 29500)
                : "127.0.0.1",
            "127.0.0.1");
}

TEST(LocalAddress, AHostThatNobodyKnowsIsNamed) {
  try {
    local_address_towards("no-such-host.invalid", 29500);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-host.invalid"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("MASTER_ADDR"), std::string::npos);
  }
}

}  // namespace
}  // namespace myxtts::test::shares_test
