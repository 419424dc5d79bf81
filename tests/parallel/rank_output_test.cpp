// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_process.h"

#include <vector>

#include <gtest/gtest.h>

namespace myxtts::rank_output_test {
namespace {

class RankOutputTest : public testing::Test {
 protected:
  std::vector<std::string> shown_;
  RankOutput output_{2, [this](const std::string& line) { shown_.push_back(line); }};
};

TEST_F(RankOutputTest, LinesAreShownWholeHoweverTheyCome) {
  for (const char* piece : {"on", "e\ntwo\n\nth", "ree", "\r\n", "rest"}) output_.add(piece);
  EXPECT_EQ(shown_, (std::vector<std::string>{"[rank 2] one", "[rank 2] two", "[rank 2] ",
                                              "[rank 2] three"}));
  output_.finish();
  EXPECT_EQ(shown_.back(), "[rank 2] rest");
  output_.finish();
  EXPECT_EQ(shown_.size(), 5U);
}

TEST_F(RankOutputTest, ALineWithoutEndDoesNotFillTheMemory) {
  const std::string piece(10'000, 'x');
  for (int i = 0; i < 100; ++i) output_.add(piece);
  EXPECT_GT(shown_.size(), 10U);
}

TEST_F(RankOutputTest, TheLastWordsAreAnErrorWhereThereWasOne) {
  EXPECT_EQ(output_.last_words(), "");
  output_.add("starting\n");
  EXPECT_EQ(output_.last_words(), "starting");
  output_.add("error: train: it broke\nmyxtts: The disk is full.\nbye\n\n");
  EXPECT_EQ(output_.last_words(), "myxtts: The disk is full.");
}

}  // namespace
}  // namespace myxtts::rank_output_test
