// SPDX-License-Identifier: Apache-2.0
#include "listen/transcriber.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include "base/error.h"
#include "listen/tiny_whisper.h"
#include "text/unicode.h"

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
  for (const auto& [name, words] :
       {std::pair{"xx", "does not know the language xx; it knows af, am"},
        std::pair{"eng", "the language eng; did you mean en?"},
        std::pair{"Chinese", "did you mean zh-cn?"}}) {
    try {
      transcriber().language_code(name);
      FAIL() << name;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
}

TEST(Transcriber, SaysWhichLanguageItHearsThoughAnotherIsGiven) {
  const auto clips = tiny_clips();
  const auto free = transcriber()(clips, {});
  const auto given = transcriber()(clips, {.language = "de"});
  const auto asked = transcriber()(clips, {.language = "de", .sounds_like = true});
  for (std::size_t i = 0; i < clips.size(); ++i) {
    EXPECT_EQ(asked[i].sounds_like, free[i].language);
    EXPECT_EQ(asked[i].language, "de");
    EXPECT_EQ(asked[i].tokens, given[i].tokens) << "asking changes nothing";
    EXPECT_EQ(given[i].sounds_like, "");
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

std::string joined(const std::vector<TimedWord>& words) {
  std::string text;
  for (const TimedWord& word : words) text += word.text;
  return std::string(strip_spaces(text));
}

TEST(Transcriber, WordsOneAfterAnotherAreTheText) {
  const auto clips = tiny_clips();
  const auto plain = transcriber()(clips, {.language = "en"});
  const auto found = transcriber()(clips, {.language = "en", .words = true, .batch = 4});
  for (std::size_t i = 0; i < clips.size(); ++i) {
    EXPECT_EQ(found[i].tokens, plain[i].tokens) << "asking for words changes nothing";
    EXPECT_TRUE(plain[i].words.empty());
    // A character that the model began and did not end is one unknown sign in both.
    EXPECT_EQ(joined(found[i].words), found[i].text);
    double before = 0;
    for (const TimedWord& word : found[i].words) {
      EXPECT_GE(word.begin, before - 1e-9);
      EXPECT_LE(word.begin, word.end + 1e-9);
      EXPECT_LE(word.end, 2.0);
      before = word.begin;
    }
  }
}

// The same model, which says either token where it said the other, and everything else as before:
// their embeddings are exchanged.
Transcriber that_exchanges(std::int64_t a, std::int64_t b) {
  WhisperFiles files = open_whisper(tiny_whisper());
  const std::string name = "decoder.token_embedding.weight";
  auto embedding = files.tensors.at(name).clone();
  embedding.index_copy_(0, at::tensor({a, b}, at::kLong),
                        embedding.index_select(0, at::tensor({b, a}, at::kLong)));
  files.tensors.insert_or_assign(name, embedding);
  return {files, at::kCPU};
}

// The tiny model writes times unasked, side by side too. Here its last ones are letters.
TEST(Transcriber, TimesThatNobodyAskedForTakeNoWordsAway) {
  const WhisperVocabulary& vocabulary = transcriber().vocabulary();
  const auto letter = vocabulary.encode("a").front();
  int asked = 0;
  for (const at::Tensor& clip : tiny_clips()) {
    const auto tokens = transcriber()({clip}, {.language = "en"})[0].tokens;
    const auto is_other_time = [&](std::int64_t token) {
      return token >= vocabulary.first_time && token != tokens.back();
    };
    const auto pair = std::ranges::adjacent_find(tokens, [&](std::int64_t one, std::int64_t next) {
      return is_other_time(one) && is_other_time(next);
    });
    if (tokens.back() < vocabulary.first_time || pair == tokens.end()) continue;
    ++asked;
    const Transcriber exchanged = that_exchanges(tokens.back(), letter);
    const auto found = exchanged({clip}, {.language = "en", .words = true})[0];
    EXPECT_EQ(found.tokens.back(), letter);
    EXPECT_EQ(joined(found.words), found.text) << "the letters stand behind two times";
  }
  EXPECT_GT(asked, 0);
}

TEST(Transcriber, WordsOfALongClipGoThroughItsWindowsInOrder) {
  const auto clips = tiny_clips();
  const auto whole = at::cat({clips[0], clips[1], clips[2]});
  const auto found = transcriber()({whole}, {.language = "en", .words = true})[0];
  ASSERT_FALSE(found.words.empty());
  EXPECT_EQ(joined(found.words), found.text);
  EXPECT_GT(found.words.back().end, 2.0) << "seconds of the clip, not of its last window";
  EXPECT_LE(found.words.back().end, 6.0);
}

TEST(Transcriber, WordsOfAGivenTextAreThoseOfTheSameTextHeard) {
  const auto clip = tiny_clips()[4];
  // The tokens of what is heard may not be those that the text is divided into, so a text first.
  const std::string text = "the thing and on";
  const auto given = transcriber().lay({clip, clip}, {text, "and"}, {.language = "en"});
  EXPECT_EQ(joined(given[0].words), text);
  EXPECT_EQ(joined(given[1].words), "and");
  const auto alone = transcriber().lay({clip}, {text}, {.language = "en"});
  EXPECT_NEAR(alone[0].log_probability, given[0].log_probability, 1e-4)
      << "a shorter text beside it changes nothing";
  EXPECT_NE(given[0].log_probability, given[1].log_probability);
}

TEST(Transcriber, WordsAreFoundByTheHeadsThatFollowTheSound) {
  WhisperFiles files = open_whisper(tiny_whisper());
  files.sizes.text_layers = 6;
  files.sizes.text_heads = 8;
  files.following_heads.clear();
  const auto upper = heads_to_follow(files);
  ASSERT_EQ(upper.size(), 24U);
  EXPECT_EQ(upper.front(), WhisperHead(3, 0));
  EXPECT_EQ(upper.back(), WhisperHead(5, 7));
  files.following_heads = {{4, 2}, {3, 1}};
  EXPECT_EQ(heads_to_follow(files), (std::vector<WhisperHead>{{3, 1}, {4, 2}}));
}

TEST(Transcriber, ATextThatCannotBeLaidHasNoWords) {
  const auto clip = tiny_clips()[0];
  std::string endless;
  for (int i = 0; i < 50; ++i) endless += " the";
  const auto found = transcriber().lay({at::cat({clip, clip}), clip, clip, at::zeros({0}), clip},
                                       {"the", endless, "", "the", "the"}, {.language = "en"});
  for (const std::size_t i : {0U, 1U, 2U, 3U}) {
    EXPECT_TRUE(found[i].words.empty()) << i;
    EXPECT_TRUE(std::isinf(found[i].log_probability)) << i;
  }
  EXPECT_EQ(joined(found[4].words), "the") << "others are laid all the same";
}

}  // namespace
}  // namespace myxtts::test::transcriber_test
