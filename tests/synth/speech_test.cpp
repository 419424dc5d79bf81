// SPDX-License-Identifier: Apache-2.0
#include "synth/speech.h"

#include <numeric>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace myxtts::speech_test {
namespace {

using namespace std::chrono_literals;

TEST(Speech, BringsEverySampleInOrderToAReaderOnAnotherThread) {
  Speech speech;
  std::thread maker([&] {
    for (int i = 0; i < 1000; ++i) {
      const float sample = static_cast<float>(i);
      EXPECT_TRUE(speech.add({&sample, 1}));
    }
    speech.finish(7);
  });
  std::vector<float> heard;
  while (const auto part = speech.next(60s)) {
    if (part->empty()) break;
    heard.insert(heard.end(), part->begin(), part->end());
  }
  maker.join();
  std::vector<float> all(1000);
  std::iota(all.begin(), all.end(), 0.0F);
  EXPECT_EQ(heard, all);
  EXPECT_EQ(speech.codes(), 7);
}

TEST(Speech, SaysNothingWhileNothingComesAndThrowsItsFailureAfterWhatWasMade) {
  Speech speech;
  EXPECT_EQ(speech.next(1ms), std::nullopt);
  const float sample = 1.0F;
  speech.add({&sample, 1});
  speech.fail(std::make_exception_ptr(std::runtime_error("lost")));
  EXPECT_EQ(speech.next(0ms)->size(), 1U);
  EXPECT_THROW(speech.next(0ms), std::runtime_error);
}

TEST(Speech, TellsItsMakerThatTheReaderLeft) {
  Speech speech;
  const float sample = 1.0F;
  EXPECT_TRUE(speech.add({&sample, 1}));
  speech.cancel();
  EXPECT_FALSE(speech.add({&sample, 1}));
  EXPECT_TRUE(speech.is_cancelled());
}

}  // namespace
}  // namespace myxtts::speech_test
