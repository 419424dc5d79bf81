// SPDX-License-Identifier: Apache-2.0
// What disks and other processes do to a feature cache.
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/cache/cache_clips.h"
#include "data/cache/feature_cache.h"
#include "support/small_disk.h"
#include "support/temporary_folder.h"

namespace {
std::atomic<int> lock_failure = 0;  // the errno of every flock(); 0: locks are taken
}

// In place of the C library's, for a disk that has no locks.
extern "C" int flock(int file, int operation) noexcept {
  if (lock_failure == 0) return static_cast<int>(::syscall(SYS_flock, file, operation));
  errno = lock_failure;
  return -1;
}

namespace myxtts::test::feature_cache_disk_test {
namespace {

constexpr FeatureKey kKey{0xabc};
constexpr std::size_t kSmall = 60;  // samples, for tests that go through a file byte by byte

// A shard of these clips, as a writer leaves it that was killed: without an index.
std::string bytes_of_shard(const std::filesystem::path& folder, std::uint64_t clips) {
  {
    FeatureCache cache(folder, kKey);
    for (std::uint64_t clip = 1; clip <= clips; ++clip) add_made(cache, clip, kSmall);
  }
  const auto shard = shards_in(folder).at(0);
  std::filesystem::remove(std::filesystem::path(shard).replace_extension(".index"));
  return contents_of(shard);
}

// Runs `work` in a process of its own; gives its exit status.
template <typename Work>
pid_t in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  return child;
}

int wait_for(pid_t child) {
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(FeatureCacheOnDisk, ATornTailAtAnyByteCostsOnlyTheTornClipAndWritingGoesOn) {
  const TemporaryFolder folder;
  const auto whole = bytes_of_shard(folder.path(), 3);
  const auto shard = shards_in(folder.path()).at(0);
  const auto held = [&](std::size_t size) {  // clips whose last byte is there
    std::uint64_t clips = 0;
    for (std::size_t at = 64; clips < 3; ++clips) {
      const auto made = content_of(clips + 1, kSmall);
      at += 64 + 2 * (made.samples.size() + made.codes.size());
      if (at > size) break;
      at = (at + 63) / 64 * 64;
    }
    return clips;
  };
  for (std::size_t size = 64; size <= whole.size(); ++size) {
    write_file(shard, whole.substr(0, size));
    std::filesystem::remove(std::filesystem::path(shard).replace_extension(".index"));
    {
      FeatureCache cache(folder.path(), kKey);
      ASSERT_EQ(cache.size(), held(size)) << size;
      for (std::uint64_t clip = 1; clip <= 3; ++clip) {
        ASSERT_EQ(holds_made(cache, clip, kSmall), clip <= held(size)) << size;
      }
      for (std::uint64_t clip = 1; clip <= 4; ++clip) ASSERT_TRUE(add_made(cache, clip, kSmall));
    }
    const FeatureCache again(folder.path(), kKey);
    for (std::uint64_t clip = 1; clip <= 4; ++clip) ASSERT_TRUE(holds_made(again, clip, kSmall));
    ASSERT_EQ(shards_in(folder.path()).size(), 1u) << "the repaired shard was not gone on with";
  }
}

TEST(FeatureCacheOnDisk, NoFlippedBitIsEverGivenOutAndTheClipCanBeMadeAgain) {
  const TemporaryFolder folder;
  const auto whole = bytes_of_shard(folder.path(), 3);
  const auto shard = shards_in(folder.path()).at(0);
  for (std::size_t byte = 64; byte < whole.size(); ++byte) {
    auto flipped = whole;
    flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << (byte % 8)));
    write_file(shard, flipped);
    std::filesystem::remove(std::filesystem::path(shard).replace_extension(".index"));
    int missing = 0;
    {
      FeatureCache cache(folder.path(), kKey);
      for (std::uint64_t clip = 1; clip <= 3; ++clip) {
        if (!cache.find(clip)) {
          ++missing;
        } else {
          ASSERT_TRUE(holds_made(cache, clip, kSmall)) << byte;
        }
      }
      ASSERT_LE(missing, 1) << byte;  // one damaged clip does not take its neighbours along
      for (std::uint64_t clip = 1; clip <= 3; ++clip) ASSERT_TRUE(add_made(cache, clip, kSmall));
    }
    const FeatureCache again(folder.path(), kKey);
    for (std::uint64_t clip = 1; clip <= 3; ++clip) {
      ASSERT_TRUE(holds_made(again, clip, kSmall)) << byte;
    }
  }
}

TEST(FeatureCacheOnDisk, AShardWithADamagedHeadIsLeftAlone) {
  const TemporaryFolder folder;
  const auto whole = bytes_of_shard(folder.path(), 2);
  const auto shard = shards_in(folder.path()).at(0);
  for (std::size_t byte = 0; byte < 64; ++byte) {
    auto flipped = whole;
    flipped[byte] = static_cast<char>(flipped[byte] ^ 1);
    write_file(shard, flipped);
    FeatureCache cache(folder.path(), kKey);
    ASSERT_FALSE(cache.find(1)) << byte;
  }
  EXPECT_EQ(contents_of(shard).size(), whole.size());
}

TEST(FeatureCacheOnDisk, ADamagedIndexIsNotBelieved) {
  const TemporaryFolder folder;
  {
    FeatureCache cache(folder.path(), kKey);
    for (std::uint64_t clip = 1; clip <= 3; ++clip) add_made(cache, clip, kSmall);
  }
  const auto index = shards_in(folder.path()).at(0).replace_extension(".index");
  const auto whole = contents_of(index);
  ASSERT_EQ(whole.size(), 48u + 3 * 16);
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    auto flipped = whole;
    flipped[byte] = static_cast<char>(flipped[byte] ^ 16);
    write_file(index, flipped);
    const FeatureCache cache(folder.path(), kKey);
    for (std::uint64_t clip = 1; clip <= 3; ++clip) ASSERT_TRUE(holds_made(cache, clip, kSmall));
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(index, whole.substr(0, size));
    const FeatureCache cache(folder.path(), kKey);
    ASSERT_EQ(cache.size(), 3u);
  }
}

TEST(FeatureCacheOnDisk, TheIndexOfADeletedShardIsNotTakenForThatOfTheNext) {
  const TemporaryFolder folder;
  {
    FeatureCache cache(folder.path(), kKey);
    for (std::uint64_t clip = 1; clip <= 3; ++clip) add_made(cache, clip);
  }
  std::filesystem::remove(shards_in(folder.path()).at(0));
  FeatureCache writer(folder.path(), kKey);
  for (std::uint64_t clip = 11; clip <= 20; ++clip) add_made(writer, clip);
  const FeatureCache reader(folder.path(), kKey);
  EXPECT_EQ(reader.size(), 10u);
  for (std::uint64_t clip = 11; clip <= 20; ++clip) EXPECT_TRUE(holds_made(reader, clip)) << clip;
  for (std::uint64_t clip = 1; clip <= 3; ++clip) EXPECT_FALSE(reader.contains(clip)) << clip;
}

TEST(FeatureCacheOnDisk, ADiskWithoutLocksIsSaidAndNothingIsCachedThere) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey);
  testing::internal::CaptureStderr();
  lock_failure = ENOLCK;
  const bool added = add_made(cache, 1);
  lock_failure = 0;
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(added);
  EXPECT_FALSE(cache.accepts_more());
  EXPECT_NE(said.find(cache.folder().string()), std::string::npos) << said;
  EXPECT_NE(said.find("--cache-dir"), std::string::npos) << said;
  EXPECT_TRUE(shards_in(folder.path()).empty()) << "an empty file was left behind";
}

TEST(FeatureCacheOnDisk, AShardCutBehindItsIndexLosesOnlyWhatIsGone) {
  const TemporaryFolder folder;
  {
    FeatureCache cache(folder.path(), kKey);
    for (std::uint64_t clip = 1; clip <= 5; ++clip) add_made(cache, clip);
  }
  const auto shard = shards_in(folder.path()).at(0);
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 10);
  FeatureCache cache(folder.path(), kKey);
  for (std::uint64_t clip = 1; clip <= 4; ++clip) EXPECT_TRUE(holds_made(cache, clip));
  EXPECT_FALSE(cache.find(5));
  EXPECT_TRUE(add_made(cache, 5));
  EXPECT_TRUE(holds_made(cache, 5));
}

TEST(FeatureCacheOnDisk, AShardThatShrinksUnderUsIsMissingAndNotACrash) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey);
  add_made(cache, 1, 100'000);
  std::filesystem::resize_file(shards_in(folder.path()).at(0), 100);
  EXPECT_FALSE(cache.find(1));
}

TEST(FeatureCacheOnDisk, AFolderThatIsRemovedTakesNothingAwayThatWasFound) {
  const TemporaryFolder folder;
  FeatureCache cache(folder / "cache", kKey);
  add_made(cache, 1);
  std::filesystem::remove_all(folder / "cache");
  cache.refresh();
  EXPECT_TRUE(holds_made(cache, 1));
}

TEST(FeatureCacheOnDisk, TwoProcessesAtOnceMakeOneCache) {
  constexpr std::uint64_t kClips = 150;
  const TemporaryFolder folder;
  std::vector<pid_t> children;
  for (std::uint64_t child = 0; child < 2; ++child) {
    children.push_back(in_child([&] {
      FeatureCache cache(folder.path(), kKey, 50'000);
      for (std::uint64_t i = 0; i < kClips; ++i) {
        // Half of the clips come from both, in opposite orders.
        const auto clip = child == 0 ? i : 2 * kClips - kClips / 2 - 1 - i;
        if (!add_made(cache, clip) || !holds_made(cache, clip)) ::_exit(1);
      }
    }));
  }
  for (const auto child : children) EXPECT_EQ(wait_for(child), 0);
  const FeatureCache cache(folder.path(), kKey);
  EXPECT_EQ(cache.size(), kClips + kClips / 2);
  for (std::uint64_t clip = 0; clip < kClips + kClips / 2; ++clip) {
    EXPECT_TRUE(holds_made(cache, clip)) << clip;
  }
}

TEST(FeatureCacheOnDisk, AWriterThatIsKilledLeavesACacheThatTheNextOneGoesOnWith) {
  const TemporaryFolder folder;
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t child = in_child([&] {
    FeatureCache cache(folder.path(), kKey);
    for (std::uint64_t clip = 0;; ++clip) {
      add_made(cache, clip, 100'000);
      if (clip == 50) (void)!::write(told[1], "x", 1);
    }
  });
  char byte = 0;
  ASSERT_EQ(::read(told[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  wait_for(child);
  ::close(told[0]);
  ::close(told[1]);

  FeatureCache cache(folder.path(), kKey);
  const auto clips = cache.size();
  EXPECT_GE(clips, 51u);
  for (std::uint64_t clip = 0; clip < clips; ++clip) {
    EXPECT_TRUE(holds_made(cache, clip, 100'000)) << clip;
  }
  EXPECT_TRUE(add_made(cache, clips, 100'000));
  EXPECT_TRUE(holds_made(cache, clips, 100'000));
  EXPECT_EQ(shards_in(folder.path()).size(), 1u);
}

TEST(FeatureCacheOnDisk, AFullDiskStopsTheWritingAndNothingElse) {
  const SmallDisk disk(1024);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a tmpfs of 1 MB";
  FeatureCache cache(disk.path(), kKey);
  std::uint64_t clips = 0;
  testing::internal::CaptureStderr();
  while (add_made(cache, clips, 30'000)) {
    ++clips;
    ASSERT_LT(clips, 1000u) << "a disk of 1 MB took it all";
  }
  EXPECT_FALSE(cache.accepts_more());
  EXPECT_FALSE(add_made(cache, clips + 1, 30'000));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("No space left"), std::string::npos) << said;
  EXPECT_EQ(said.find("No space left"), said.rfind("No space left")) << "said more than once";

  EXPECT_GT(clips, 10u);
  for (std::uint64_t clip = 0; clip < clips; ++clip) {
    EXPECT_TRUE(holds_made(cache, clip, 30'000)) << clip;
  }
  EXPECT_FALSE(cache.find(clips));
  const FeatureCache again(disk.path(), kKey);
  EXPECT_EQ(again.size(), clips);
}

}  // namespace
}  // namespace myxtts::test::feature_cache_disk_test
