// SPDX-License-Identifier: Apache-2.0
#include "clips/clip_list.h"

#include <gtest/gtest.h>

namespace myxtts::test::clip_list_test {
namespace {

const std::vector<TimedWord> kWords{{" Hello", 1.0, 1.4, 0.9},
                                    {" there,", 1.4, 2.0, 0.9},
                                    {" strange", 5.0, 5.6, 0.1},
                                    {" one.", 5.6, 6.0, 0.9}};

TEST(ClipText, AWordBelongsToTheClipThatItsMiddleIsIn) {
  EXPECT_EQ(transcribed_text(kWords, 0.0, 1.7).text, "Hello");
  EXPECT_EQ(transcribed_text(kWords, 0.0, 1.71).text, "Hello there,");
  EXPECT_EQ(transcribed_text(kWords, 1.71, 9.0).text, "strange one.");
  EXPECT_EQ(transcribed_text(kWords, 2.5, 4.0).text, "");
  EXPECT_DOUBLE_EQ(transcribed_text(kWords, 2.5, 4.0).confidence, 0.0);
}

TEST(ClipText, WhatTheRecogniserGuessedIsDoubtful) {
  const auto sure = transcribed_text(kWords, 0, 3);
  EXPECT_EQ(sure.doubt, "");
  EXPECT_NEAR(sure.confidence, 1 - 0.1 / 3, 1e-9);
  const auto guessed = transcribed_text(kWords, 4, 7);
  EXPECT_EQ(guessed.doubt, "The recogniser is not sure of its words.");
  EXPECT_LT(guessed.confidence, 0.85);
}

}  // namespace
}  // namespace myxtts::test::clip_list_test
