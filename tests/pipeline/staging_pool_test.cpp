// SPDX-License-Identifier: Apache-2.0
#include "pipeline/staging_pool.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/blocked_thread.h"

namespace myxtts::staging_pool_test {
namespace {

using test::BlockedThread;

TEST(StagingPool, ABlockThatWasGivenBackIsUsedAgainWithoutAnAllocation) {
  int allocations = 0;
  StagingPool pool(2, [&](std::size_t bytes) {
    ++allocations;
    return plain_memory(bytes);
  });
  for (int i = 0; i < 100; ++i) {
    auto block = pool.claim(1000);
    ASSERT_TRUE(block.has_value());
    EXPECT_EQ(block->bytes().size(), 1000U);
  }
  EXPECT_EQ(allocations, 2);
}

TEST(StagingPool, AWishBeyondABlockEnlargesItAndOnlyIt) {
  StagingPool pool(2, plain_memory);
  {
    auto one = pool.claim(100);
    auto other = pool.claim(100);
  }
  const std::size_t small = pool.bytes() / 2;  // of each
  auto large = pool.claim(100'000);
  EXPECT_EQ(large->bytes().size(), 100'000U);
  EXPECT_GE(pool.bytes(), 100'000U + small);
  EXPECT_LT(pool.bytes(), 150'000U);
}

TEST(StagingPool, BlocksStartOnABoundaryThatEveryArrayCanUse) {
  StagingPool pool(1, plain_memory);
  auto block = pool.claim(10);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->bytes().data()) % 64, 0U);
}

TEST(StagingPool, WhoClaimsABlockWaitsUntilADeviceHasReadIt) {
  StagingPool pool(1, plain_memory);
  int waits = 0;
  {
    auto block = pool.claim(10);
    block->read_until([&] { ++waits; });
  }
  EXPECT_EQ(waits, 0) << "giving back must not wait";
  { auto again = pool.claim(10); }
  EXPECT_EQ(waits, 1);
  { auto once_more = pool.claim(10); }
  EXPECT_EQ(waits, 1) << "a wait belongs to one use of the block";
}

TEST(StagingPool, ABlockIsNotLostWhenTheDeviceFails) {
  StagingPool pool(1, plain_memory);
  pool.claim(10)->read_until([] { throw DeviceError("GPU 0 was lost."); });
  EXPECT_THROW((void)pool.claim(10), DeviceError);
  EXPECT_EQ(pool.free_blocks(), 1U);
}

TEST(StagingPool, ABlockIsNotLostWhenThereIsNoMemoryForIt) {
  StagingPool pool(1, [](std::size_t bytes) {
    if (bytes > 10'000) throw DeviceError("No page-locked memory.");
    return plain_memory(bytes);
  });
  EXPECT_THROW((void)pool.claim(100'000), DeviceError);
  EXPECT_TRUE(pool.claim(10).has_value());
}

TEST(StagingPool, GivingBackWakesWhoWaits) {
  StagingPool pool(1, plain_memory);
  auto block = pool.claim(10);
  bool came = false;
  BlockedThread waiting([&] { came = pool.claim(10).has_value(); });
  waiting.wait_until_asleep();
  block.reset();
  waiting.join();
  EXPECT_TRUE(came);
}

TEST(StagingPool, StoppingWakesWhoWaits) {
  StagingPool pool(1, plain_memory);
  auto block = pool.claim(10);
  bool came = true;
  BlockedThread waiting([&] { came = pool.claim(10).has_value(); });
  waiting.wait_until_asleep();
  pool.stop();
  waiting.join();
  EXPECT_FALSE(came);
}

TEST(StagingPool, TryingToClaimNeverWaitsForABlock) {
  StagingPool pool(1, plain_memory);
  {
    const auto block = pool.try_claim(100);
    ASSERT_TRUE(block.has_value());
    EXPECT_EQ(block->bytes().size(), 100U);
    EXPECT_FALSE(pool.try_claim(1).has_value()) << "the only one is taken";
  }
  EXPECT_TRUE(pool.try_claim(1'000'000).has_value());
  pool.stop();
  EXPECT_FALSE(pool.try_claim(1).has_value());
}

}  // namespace
}  // namespace myxtts::staging_pool_test
