// SPDX-License-Identifier: Apache-2.0
#include "listen/transcriber.h"

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include "base/error.h"
#include "listen/tiny_whisper.h"

namespace myxtts::test::transcriber_test {
namespace {

const Transcriber& transcriber() {
  static const Transcriber made(open_whisper(tiny_whisper()), at::kCPU);
  return made;
}

TEST(Transcriber, ALongClipIsHeardWindowByWindowToItsEnd) {
  const auto clips = tiny_clips();
  const auto whole = at::cat({clips[0], clips[1], clips[2]});
  int heard = 0;
  const auto found = transcriber()({whole, clips[4]}, {}, {}, [&] { ++heard; });
  EXPECT_EQ(heard, 2);
  ASSERT_FALSE(found[0].pieces.empty());
  double before = 0;
  for (const HeardPiece& piece : found[0].pieces) {
    EXPECT_GE(piece.begin, before - 1e-9);
    EXPECT_GE(piece.end, piece.begin);
    before = piece.begin;
  }
  EXPECT_GT(found[0].tokens.size(), 20U) << "more than one window has room for";
  EXPECT_EQ(found[1].tokens, transcriber()({clips[4]}, {})[0].tokens)
      << "a short clip is heard as if it were alone";
}

TEST(Transcriber, TheFirstWindowOfALongClipIsThatOfAShortOneWithTimes) {
  const auto clips = tiny_clips();
  const auto alone = transcriber()({clips[3]}, {.language = "de", .times = true})[0];
  const auto longer = transcriber()({at::cat({clips[3], clips[0]})}, {.language = "de"})[0];
  ASSERT_GE(longer.tokens.size(), alone.tokens.size());
  EXPECT_TRUE(std::equal(alone.tokens.begin(), alone.tokens.end(), longer.tokens.begin()));
}

TEST(Transcriber, NothingIsHeardOnceNobodyWantsIt) {
  for (int patience = 0; patience < 6; ++patience) {  // while it hears, at any moment
    int asked = 0;
    int heard = 0;
    const auto found = transcriber()(
        tiny_clips(), {}, [&] { return asked++ < patience; }, [&] { ++heard; });
    ASSERT_EQ(found.size(), 6U);
    EXPECT_EQ(heard, 0);
    EXPECT_TRUE(found[0].text.empty());
  }
}

TEST(Transcriber, AnEmptyClipHasATranscript) {
  EXPECT_EQ(transcriber()({at::zeros({0})}, {.language = "en"}).size(), 1U);
}

TEST(Transcriber, LanguagesAreNamedAsUsersNameThem) {
  EXPECT_EQ(transcriber().language_code("zh-cn"), "zh");
  EXPECT_EQ(transcriber().language_code("FA"), "fa");
  try {
    transcriber().language_code("xx");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("does not know the language xx; it knows af, am"),
              std::string::npos)
        << error.what();
  }
}

TEST(Transcriber, HalfPrecisionHearsTheSameLanguages) {
  const Transcriber half(open_whisper(tiny_whisper()), at::kCPU, at::kBFloat16);
  const auto found = half(tiny_clips(), {});
  const auto expected = transcriber()(tiny_clips(), {});
  int same = 0;
  for (std::size_t i = 0; i < found.size(); ++i) same += found[i].language == expected[i].language;
  EXPECT_GE(same, 5) << "of six; rounding may turn one";
}

}  // namespace
}  // namespace myxtts::test::transcriber_test
