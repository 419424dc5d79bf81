// SPDX-License-Identifier: Apache-2.0
#include "data/cache/feature_cache.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/cache/cache_clips.h"
#include "data/cache/shard.h"
#include "support/temporary_folder.h"

namespace myxtts::test::feature_cache_test {
namespace {

constexpr FeatureKey kKey{0x1234};

TEST(FeatureCache, GivesBackEveryBitInTheSameProcessAndInTheNext) {
  const TemporaryFolder folder;
  {
    FeatureCache cache(folder.path(), kKey);
    for (std::uint64_t clip = 0; clip < 200; ++clip) EXPECT_TRUE(add_made(cache, clip));
    for (std::uint64_t clip = 0; clip < 200; ++clip) EXPECT_TRUE(holds_made(cache, clip)) << clip;
    EXPECT_FALSE(cache.find(200));
    EXPECT_EQ(cache.size(), 200u);
  }
  const FeatureCache cache(folder.path(), kKey);
  for (std::uint64_t clip = 0; clip < 200; ++clip) EXPECT_TRUE(holds_made(cache, clip)) << clip;
  EXPECT_EQ(cache.size(), 200u);
  EXPECT_EQ(shards_in(folder.path()).size(), 1u);
}

TEST(FeatureCache, ViewsStayWhereTheyAreWhileMoreIsAdded) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey, 20'000);
  add_made(cache, 7);
  const auto before = cache.find(7);
  ASSERT_TRUE(before);
  for (std::uint64_t clip = 100; clip < 200; ++clip) add_made(cache, clip);
  cache.refresh();
  EXPECT_EQ(cache.find(7)->samples.data(), before->samples.data());
  EXPECT_TRUE(std::ranges::equal(before->samples, content_of(7).samples));
}

TEST(FeatureCache, BeginsANewShardWhenOneIsFullAndNeverGrowsBeyondItsCapacity) {
  const TemporaryFolder folder;
  {
    FeatureCache cache(folder.path(), kKey, 20'000);
    for (std::uint64_t clip = 0; clip < 100; ++clip) ASSERT_TRUE(add_made(cache, clip));
  }
  const auto shards = shards_in(folder.path());
  EXPECT_GT(shards.size(), 10u);
  for (const auto& shard : shards) EXPECT_LE(std::filesystem::file_size(shard), 20'000u);
  const FeatureCache cache(folder.path(), kKey);
  for (std::uint64_t clip = 0; clip < 100; ++clip) EXPECT_TRUE(holds_made(cache, clip)) << clip;
}

TEST(FeatureCache, TakesAClipThatIsLargerThanAShard) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey, 100);
  EXPECT_TRUE(add_made(cache, 3));
  EXPECT_TRUE(add_made(cache, 4));
  EXPECT_TRUE(holds_made(cache, 3));
  EXPECT_TRUE(holds_made(cache, 4));
}

TEST(FeatureCache, TheNextRunGoesOnInTheShardThatHasRoom) {
  const TemporaryFolder folder;
  for (std::uint64_t run = 0; run < 5; ++run) {
    FeatureCache cache(folder.path(), kKey);
    add_made(cache, run);
  }
  EXPECT_EQ(shards_in(folder.path()).size(), 1u);
  const FeatureCache cache(folder.path(), kKey);
  EXPECT_EQ(cache.size(), 5u);
}

TEST(FeatureCache, AnotherKeySeesNothing) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey);
  add_made(cache, 1);
  const FeatureCache other(folder.path(), FeatureKey{0x1235});
  EXPECT_FALSE(other.find(1));
}

TEST(FeatureCache, AShardInTheFolderOfAnotherKeyIsNotUsed) {
  const TemporaryFolder folder;
  std::filesystem::path place;
  {
    FeatureCache cache(folder.path(), kKey);
    add_made(cache, 1);
    place = cache.folder();
  }
  std::filesystem::rename(place, folder / "features-0000000000001235");
  FeatureCache other(folder.path(), FeatureKey{0x1235});
  EXPECT_FALSE(other.find(1));
  EXPECT_TRUE(add_made(other, 1));
  EXPECT_TRUE(holds_made(other, 1));
}

TEST(FeatureCache, AClipThatIsThereIsNotWrittenAgain) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey);
  add_made(cache, 1);
  const auto bytes = cache.bytes();
  EXPECT_TRUE(add_made(cache, 1));
  EXPECT_EQ(cache.bytes(), bytes);
}

TEST(FeatureCache, LearnsWhatOthersAddedWhenAskedTo) {
  const TemporaryFolder folder;
  FeatureCache mine(folder.path(), kKey);
  FeatureCache theirs(folder.path(), kKey);
  add_made(mine, 1);
  add_made(theirs, 2);  // into a shard of its own: mine is locked
  add_made(theirs, 3);
  EXPECT_FALSE(mine.find(2));
  mine.refresh();
  EXPECT_TRUE(holds_made(mine, 2));
  EXPECT_TRUE(holds_made(mine, 3));
  add_made(theirs, 4);
  mine.refresh();
  EXPECT_TRUE(holds_made(mine, 4));
  EXPECT_EQ(mine.size(), 4u);
  EXPECT_EQ(shards_in(folder.path()).size(), 2u);
}

TEST(FeatureCache, ManyThreadsAddAndReadAtOnce) {
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kClips = 120;
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey, 40'000);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint64_t i = 0; i < kClips; ++i) {
          const auto clip = (i + thread * 30) % kClips;  // each clip comes from every thread
          if (!add_made(cache, clip) || !holds_made(cache, clip)) ++wrong;
          if (i % 40 == 0) cache.refresh();
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache.size(), kClips);
  std::uint64_t expected = shards_in(folder.path()).size() * 64;
  for (std::uint64_t clip = 0; clip < kClips; ++clip) {
    const auto made = content_of(clip);
    expected += 64 + 2 * (made.samples.size() + made.codes.size());
  }
  EXPECT_LE(cache.bytes(), expected + kClips * 64) << "clips were written twice";
}

TEST(FeatureCache, AFolderThatCannotBeMadeIsAnErrorWithItsName) {
  const TemporaryFolder folder;
  write_file(folder / "file", "x");
  try {
    const FeatureCache cache(folder / "file", kKey);
    FAIL() << "no error";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("file/features-"), std::string::npos) << error.what();
  }
}

TEST(CacheRoom, TellsWhatAClipWillTakeAndWhatTheDiskHas) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey);
  const std::vector<std::int16_t> samples(22'050);
  const std::vector<std::uint16_t> codes(22);
  const auto before = cache.bytes();
  cache.add(1, samples, codes);
  cache.add(2, samples, codes);
  const auto grown = cache.bytes() - before;
  EXPECT_LE(grown, 64 + 2 * cached_bytes(22'050));
  EXPECT_GT(grown + 128, 2 * cached_bytes(22'050));
  EXPECT_GT(free_room(folder / "not/yet/there"), 0u);
  EXPECT_NE(sentence_of_room("x", 1'900'000'000, 1).find("1.9 GB"), std::string::npos);
}

}  // namespace
}  // namespace myxtts::test::feature_cache_test
