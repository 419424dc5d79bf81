// SPDX-License-Identifier: Apache-2.0
#include "session/ranks/rank_agreement.h"

#include <gtest/gtest.h>

namespace myxtts::test::rank_notes_test {
namespace {

TEST(RankNotes, AnyRankStopsAllAndRankZerosClockCounts) {
  //                                  stop late save audio data step
  const std::vector<double> notes{0, 0, 1, 2.5, 0.1, 0.2,   //
                                  1, 1, 0, 1.5, 0.3, 0.4};  //
  const RankNote agreed = agreement_of(notes);
  EXPECT_TRUE(agreed.stop);
  EXPECT_FALSE(agreed.late);
  EXPECT_TRUE(agreed.save);
  EXPECT_DOUBLE_EQ(agreed.audio_seconds, 4.0);
  ASSERT_EQ(agreed.times.size(), 2U);
  EXPECT_DOUBLE_EQ(agreed.times[1].data, 0.3);
  EXPECT_DOUBLE_EQ(agreed.times[1].busy(), 0.7);
}

std::string told(StragglerWatch& watch, const std::vector<RankTimes>& times) {
  std::string sentence;
  for (std::int64_t step = 0; step < StragglerWatch::kSteps; ++step) {
    EXPECT_EQ(sentence, "") << "before so many steps it is chance";
    sentence = watch.add(times);
  }
  return sentence;
}

TEST(StragglerWatch, NamesRankStageAndHowMuch) {
  StragglerWatch watch;
  EXPECT_EQ(told(watch, {{0.0, 1.0}, {0.01, 1.0}, {0.0, 1.1}}), "");
  EXPECT_EQ(told(watch, {{0.0, 1.0}, {0.5, 1.0}, {0.0, 1.1}}),
            "Rank 1 holds the others up: in the last 50 batches it took 1500 ms for each (500 ms "
            "waiting for data, 1000 ms for its step), the middle rank 1100 ms.");
  EXPECT_EQ(told(watch, {{0.0, 1.0}, {0.0, 1.0}, {0.0, 1.0}}), "") << "it begins anew";
}

TEST(StragglerWatch, OfTwoRanksTheFasterIsTheMeasure) {
  StragglerWatch watch;
  EXPECT_NE(told(watch, {{0.0, 1.0}, {0.0, 1.3}}).find("Rank 1 holds"), std::string::npos);
  EXPECT_EQ(told(watch, {{0.0, 1.0}, {0.0, 1.1}}), "");
}

}  // namespace
}  // namespace myxtts::test::rank_notes_test
