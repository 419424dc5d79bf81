// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batcher.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/blocked_thread.h"

namespace myxtts::batch_window_test {
namespace {

using test::BlockedThread;

PlannedBatch planned(std::size_t clips) {
  PlannedBatch batch;
  batch.clips.assign(clips, 7);
  return batch;
}

LoadedClip loaded(ClipNumber number) {
  return {.number = number, .repeat = 0, .text = {}, .sound = DecodedClip{}};
}

ClipNumber number_of(const LoadedBatch& batch, std::size_t index) {
  return batch.clips[index].number;
}

TEST(BatchWindow, BatchesComeInOrderWhateverIsDecodedFirst) {
  BatchWindow window(3);
  for (std::int64_t number = 0; number < 3; ++number) {
    ASSERT_TRUE(window.reserve(number, planned(2), 0));
  }
  ASSERT_TRUE(window.put(2, 0, loaded(20)));
  ASSERT_TRUE(window.put(2, 1, loaded(21)));
  ASSERT_TRUE(window.put(1, 1, loaded(11)));
  ASSERT_TRUE(window.put(0, 1, loaded(1)));
  ASSERT_TRUE(window.put(0, 0, loaded(0)));
  ASSERT_TRUE(window.put(1, 0, loaded(10)));
  window.finish();
  for (std::int64_t number = 0; number < 3; ++number) {
    const auto batch = window.take();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->number, number);
    EXPECT_EQ(number_of(*batch, 0), 10 * number);
    EXPECT_EQ(number_of(*batch, 1), 10 * number + 1);
  }
  EXPECT_FALSE(window.take().has_value());
}

TEST(BatchWindow, ABatchIsNotTakenBeforeItsLastClip) {
  BatchWindow window(2);
  ASSERT_TRUE(window.reserve(0, planned(2), 0));
  ASSERT_TRUE(window.put(0, 0, loaded(0)));
  bool taken = false;
  BlockedThread batcher([&] { taken = window.take().has_value(); });
  batcher.wait_until_asleep();
  EXPECT_FALSE(taken);
  ASSERT_TRUE(window.put(0, 1, loaded(1)));
  batcher.join();
  EXPECT_TRUE(taken);
}

TEST(BatchWindow, ABatchWithoutClipsIsCompleteAtOnce) {
  BatchWindow window(2);
  ASSERT_TRUE(window.reserve(0, planned(0), 0));
  EXPECT_EQ(window.take()->number, 0);
}

TEST(BatchWindow, TheReaderWaitsForAPlaceAndWakesWhenABatchLeaves) {
  BatchWindow window(1);
  ASSERT_TRUE(window.reserve(0, planned(0), 0));
  BlockedThread reader([&] { EXPECT_TRUE(window.reserve(1, planned(0), 0)); });
  reader.wait_until_asleep();
  EXPECT_TRUE(window.take().has_value());
  reader.join();
}

TEST(BatchWindow, BytesAreALimitOfTheirOwn) {
  BatchWindow window(100, 1000);
  ASSERT_TRUE(window.reserve(0, planned(0), 600));
  ASSERT_TRUE(window.reserve(1, planned(0), 400));
  EXPECT_EQ(window.waits_for_bytes(), 0U);
  BlockedThread reader([&] { EXPECT_TRUE(window.reserve(2, planned(0), 1)); });
  reader.wait_until_asleep();
  EXPECT_EQ(window.waits_for_bytes(), 1U);
  EXPECT_TRUE(window.take().has_value());
  reader.join();
  EXPECT_EQ(window.bytes(), 401U);
}

TEST(BatchWindow, ABatchLargerThanAllBytesStillGetsAPlaceWhenItIsAlone) {
  BatchWindow window(100, 1000);
  ASSERT_TRUE(window.reserve(0, planned(0), 5000));
  BlockedThread reader([&] { EXPECT_TRUE(window.reserve(1, planned(0), 5000)); });
  reader.wait_until_asleep();
  EXPECT_TRUE(window.take().has_value());
  reader.join();
}

TEST(BatchWindow, ALargerLimitLetsAWaitingReaderIn) {
  BatchWindow window(1);
  ASSERT_TRUE(window.reserve(0, planned(1), 0));
  BlockedThread reader([&] { EXPECT_TRUE(window.reserve(1, planned(1), 0)); });
  reader.wait_until_asleep();
  window.set_batches(2);
  reader.join();
}

TEST(BatchWindow, StoppingWakesBothSidesAndRefusesDecoders) {
  BatchWindow window(1);
  ASSERT_TRUE(window.reserve(0, planned(1), 10));
  BlockedThread reader([&] { EXPECT_FALSE(window.reserve(1, planned(1), 10)); });
  BlockedThread batcher([&] { EXPECT_FALSE(window.take().has_value()); });
  reader.wait_until_asleep();
  batcher.wait_until_asleep();
  window.stop();
  reader.join();
  batcher.join();
  EXPECT_FALSE(window.put(0, 0, loaded(0)));
  EXPECT_EQ(window.bytes(), 0U);
}

TEST(BatchWindow, AFailureWakesBothSidesAndIsNotTheEndOfData) {
  BatchWindow window(1);
  ASSERT_TRUE(window.reserve(0, planned(1), 0));
  BlockedThread reader([&] { EXPECT_FALSE(window.reserve(1, planned(1), 0)); });
  BlockedThread batcher([&] { EXPECT_THROW((void)window.take(), DataError); });
  reader.wait_until_asleep();
  batcher.wait_until_asleep();
  window.fail(std::make_exception_ptr(DataError("a.wav has no samples.")));
  window.fail(std::make_exception_ptr(DeviceError("Something later.")));
  reader.join();
  batcher.join();
  EXPECT_FALSE(window.put(0, 0, loaded(0)));
  EXPECT_THROW((void)window.take(), DataError) << "the first failure is kept";
}

TEST(BatchWindow, ItsDepthCountsCompleteBatches) {
  BatchWindow window(5);
  ASSERT_TRUE(window.reserve(0, planned(1), 0));
  ASSERT_TRUE(window.reserve(1, planned(1), 0));
  EXPECT_EQ(window.depth().current, 0U);
  ASSERT_TRUE(window.put(1, 0, loaded(0)));
  EXPECT_EQ(window.depth().current, 1U);
  ASSERT_TRUE(window.put(0, 0, loaded(0)));
  EXPECT_EQ(window.depth().current, 2U);
  EXPECT_TRUE(window.take().has_value());
  EXPECT_EQ(window.depth().current, 1U);
}

}  // namespace
}  // namespace myxtts::batch_window_test
