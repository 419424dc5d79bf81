// SPDX-License-Identifier: Apache-2.0
#include "pipeline/cache_filler.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <latch>

#include <gtest/gtest.h>

#include "base/error.h"
#include "pipeline_bench.h"
#include "support/plain_device.h"
#include "support/temporary_folder.h"

namespace myxtts::cache_filler_test {
namespace {

using test::FakeFeatures;
using test::FakePipeline;
using test::MemoryCorpus;
using test::PlainDevice;
using test::TemporaryFolder;
using test::tiny_gpt;

constexpr FeatureKey kKey{5};
constexpr DataPosition kSecondEpoch{1, 0};

// A clip of its own for every number.
struct MadeClip {
  explicit MadeClip(std::uint64_t number)
      : identity(number), samples(300, static_cast<std::int16_t>(number)), codes(7, 40 + number) {}

  ComputedClip computed() {
    return {.identity = identity,
            .samples = {.data = samples.data()},
            .sample_count = samples.size(),
            .codes = {.data = codes.data()},
            .code_count = codes.size()};
  }
  bool is_in(const FeatureCache& cache) const {
    const auto found = cache.find(identity);
    return found && std::ranges::equal(found->samples, samples) &&
           std::ranges::equal(found->codes, codes);
  }

  std::uint64_t identity;
  std::vector<std::int16_t> samples;
  std::vector<std::int64_t> codes;
};

void keep(CacheFiller& filler, MadeClip clip) {  // whose memory is gone afterwards
  const std::vector<ComputedClip> clips = {clip.computed()};
  filler.keep(clips);
}

TEST(CacheFiller, WhatIsKeptIsInTheCacheOnceItIsFinished) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey);
  PlainDevice device;
  CacheFiller filler(device, cache, 100);
  filler.start();
  for (std::uint64_t number = 1; number <= 20; ++number) keep(filler, MadeClip(number));
  filler.keep({});
  filler.finish();
  for (std::uint64_t number = 1; number <= 20; ++number) {
    EXPECT_TRUE(MadeClip(number).is_in(cache)) << number;
  }
  EXPECT_EQ(filler.passed_over(), 0);
}

TEST(CacheFiller, WaitsNeitherForTheDeviceNorForTheDiskAndPassesClipsOver) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey);
  PlainDevice device;
  std::latch device_gets_there(1);
  device.on_wait = [&] { device_gets_there.wait(); };
  CacheFiller filler(device, cache, 2);
  filler.start();
  for (std::uint64_t number = 1; number <= 5; ++number) keep(filler, MadeClip(number));
  EXPECT_EQ(filler.passed_over(), 3) << "three of five found no block";
  EXPECT_EQ(cache.size(), 0U) << "the device has not been there yet";
  device_gets_there.count_down();
  filler.finish();
  EXPECT_TRUE(MadeClip(1).is_in(cache));
  EXPECT_TRUE(MadeClip(2).is_in(cache));
  EXPECT_EQ(cache.size(), 2U);
}

TEST(CacheFiller, LeavesWithoutWritingWhenItIsDestroyed) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey);
  PlainDevice device;
  std::latch device_gets_there(1);
  device.on_wait = [&] { device_gets_there.wait(); };
  {
    CacheFiller filler(device, cache);
    keep(filler, MadeClip(1));
    filler.start();
    device_gets_there.count_down();
  }
  EXPECT_TRUE(cache.size() == 0U || MadeClip(1).is_in(cache));
  const CacheFiller never_started(device, cache);
}

TEST(CacheFiller, ADiskThatRefusesIsSaidOnceAndTheBatchesAreTheSame) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey);
  std::filesystem::remove_all(cache.folder());  // no shard can be made there
  MemoryCorpus plain;
  const auto expected = run_pipeline(plain, {});
  MemoryCorpus corpus({.cache = &cache});
  PlainDevice device;
  testing::internal::CaptureStderr();
  {
    CacheFiller filler(device, cache, 100);
    filler.start();
    FakeFeatures features(tiny_gpt().text_ids);
    features.filler = &filler;
    FakePipeline pipeline(corpus, features, test::pipeline_options({}));
    pipeline.start({});
    for (const auto& batch : expected) EXPECT_EQ((*pipeline.outlet().next())->hash, batch.hash);
    EXPECT_FALSE(pipeline.outlet().next().has_value());
    filler.finish();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const auto first = said.find("No more clips are cached");
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("No more clips are cached", first + 1), std::string::npos) << said;
  EXPECT_EQ(cache.size(), 0U);
}

TEST(CacheFiller, ADeviceThatIsLostEndsTheCachingAndNothingElse) {
  const TemporaryFolder folder;
  FeatureCache cache(folder.path(), kKey);
  PlainDevice device;
  device.on_wait = [] { throw DeviceError("GPU 1 is gone."); };
  CacheFiller filler(device, cache);
  testing::internal::CaptureStderr();
  filler.start();
  keep(filler, MadeClip(1));
  filler.finish();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("GPU 1 is gone."), std::string::npos);
  EXPECT_EQ(cache.size(), 0U);
}

// Runs from `position` up to `end`, filling the cache; gives the hashes of the batches.
struct Filled {
  std::vector<std::uint64_t> hashes;
  std::int64_t encoded = 0;
};

Filled train(MemoryCorpus& corpus, FeatureCache& cache, DataPosition position, DataPosition end) {
  PlainDevice device;
  CacheFiller filler(device, cache, 100);
  filler.start();
  FakeFeatures features(tiny_gpt().text_ids);
  features.filler = &filler;
  FakePipeline pipeline(corpus, features, test::pipeline_options({.workers = 3, .end = end}));
  pipeline.start(position);
  Filled filled;
  while (const auto slot = pipeline.outlet().next()) filled.hashes.push_back((*slot)->hash);
  pipeline.outlet().finish();
  filler.finish();
  filled.encoded = features.encoded_clips;
  return filled;
}

TEST(CacheFiller, TheSecondEpochDecodesAndEncodesNothingAndHasTheSameBatches) {
  const TemporaryFolder folder;
  MemoryCorpus plain;
  FeatureCache unused(folder / "unused", kKey);
  const auto first = train(plain, unused, {}, kSecondEpoch);
  const auto second = train(plain, unused, kSecondEpoch, {2, 0});

  FeatureCache cache(folder / "cache", kKey);
  MemoryCorpus corpus({.cache = &cache});
  const auto cold = train(corpus, cache, {}, kSecondEpoch);
  EXPECT_EQ(cold.hashes, first.hashes);
  EXPECT_EQ(cold.encoded, static_cast<std::int64_t>(corpus.size()));
  EXPECT_EQ(cache.size(), corpus.size());
  EXPECT_EQ(corpus.decodes().size(), corpus.size());

  MemoryCorpus again({.cache = &cache});
  const auto warm = train(again, cache, kSecondEpoch, {2, 0});
  EXPECT_EQ(warm.hashes, second.hashes);
  EXPECT_EQ(warm.encoded, 0);
  EXPECT_TRUE(again.decodes().empty());
}

TEST(CacheFiller, ARunThatIsKilledLeavesACacheThatTheNextOneGoesOnWith) {
  const TemporaryFolder folder;
  MemoryCorpus plain({.clips = 400});
  FeatureCache unused(folder / "unused", kKey);
  const auto expected = train(plain, unused, {}, kSecondEpoch);

  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FeatureCache cache(folder / "cache", kKey);
    MemoryCorpus corpus({.clips = 400, .cache = &cache});
    corpus.on_batch = [&](DataPosition position) {
      if (position.step == 60) (void)!::write(told[1], "x", 1);
      if (position.step == 90) ::pause();  // it is not to come to the end
    };
    train(corpus, cache, {}, {1'000'000, 0});
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(told[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(told[0]);
  ::close(told[1]);

  FeatureCache cache(folder / "cache", kKey);
  EXPECT_GT(cache.size(), 0U);
  EXPECT_LT(cache.size(), 400U) << "it was to be killed in the middle";
  MemoryCorpus corpus({.clips = 400, .cache = &cache});
  EXPECT_EQ(train(corpus, cache, {}, kSecondEpoch).hashes, expected.hashes);
  EXPECT_EQ(cache.size(), 400U);
}

}  // namespace
}  // namespace myxtts::cache_filler_test
