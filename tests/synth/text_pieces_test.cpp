// SPDX-License-Identifier: Apache-2.0
#include "synth/text_pieces.h"

#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "text/vocabulary.h"

namespace myxtts::text_pieces_test {
namespace {

// Letters alone, so that a text has about as many tokens as letters.
Vocabulary letters() {
  std::string tokens = R"("[STOP]":0,"[UNK]":1,"[SPACE]":2,"[START]":3,"[en]":4)";
  int id = 5;
  for (char c = 'a'; c <= 'z'; ++c) tokens += fmt::format(",\"{}\":{}", c, id++);
  tokens += fmt::format(",\".\":{}", id);
  std::string added;
  for (const auto& [name, number] :
       {std::pair{"[STOP]", 0}, {"[UNK]", 1}, {"[SPACE]", 2}, {"[START]", 3}, {"[en]", 4}}) {
    added += fmt::format(
        R"({}{{"id":{},"special":true,"content":"{}","single_word":false,"lstrip":false,"rstrip":false,"normalized":false}})",
        added.empty() ? "" : ",", number, name);
  }
  return Vocabulary::parse(
      fmt::format(
          R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{}],"normalizer":null,"pre_tokenizer":{{"type":"Whitespace"}},"post_processor":null,"decoder":null,"model":{{"type":"BPE","dropout":null,"unk_token":"[UNK]","continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"vocab":{{{}}},"merges":[]}}}})",
          added, tokens),
      "letters");
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

class TextPieces : public testing::Test {
 protected:
  std::vector<TextPiece> pieces(const std::string& text, std::int64_t most = 401) const {
    return text_pieces(text, Language::En, encoder_, most);
  }

  Vocabulary vocabulary_ = letters();
  TextEncoder encoder_{vocabulary_, Language::En};
};

TEST_F(TextPieces, EveryWordIsInExactlyOnePiece) {
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += fmt::format("w{}{}", std::string(static_cast<std::size_t>(i % 9), 'o'),
                        i % 7 == 6 ? ". " : " ");
  }
  for (const std::int64_t most : {401, 60, 21}) {
    std::string joined;
    std::uint32_t number = 0;
    for (const auto& piece : pieces(text, most)) {
      EXPECT_LE(static_cast<std::int64_t>(piece.ids.size()), most);
      EXPECT_EQ(piece.number, number++);
      joined += piece.text + " ";
    }
    EXPECT_EQ(words(joined), words(text)) << most;
  }
}

TEST_F(TextPieces, AWordThatIsTooLongIsCutBetweenLetters) {
  const std::string text(100, 'a');
  std::string joined;
  for (const auto& piece : pieces(text, 30)) {
    EXPECT_LE(piece.ids.size(), 30U);
    joined += piece.text;
  }
  EXPECT_EQ(joined, text);
}

TEST_F(TextPieces, ShortTextIsOnePieceInLowerCase) {
  const auto found = pieces("  Hello There.  ");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().ids, pieces("hello there.").front().ids);
  EXPECT_EQ(found.front().text, "Hello There.");
}

TEST_F(TextPieces, BlanksHaveNoPieces) {
  EXPECT_TRUE(pieces("").empty());
  EXPECT_TRUE(pieces(" \n\t ").empty());
}

TEST_F(TextPieces, AHundredThousandLettersAreTaken) {
  std::string text;
  while (text.size() < 100'000) text += "some more words of a text without an end ";
  std::size_t count = 0;
  for (const auto& piece : pieces(text)) count += words(piece.text).size();
  EXPECT_EQ(count, words(text).size());
}

TEST_F(TextPieces, WhatATextAsksForGoesWithItsPieces) {
  TextCutter cutter(vocabulary_, Language::En, 12, Lexicon("mr x\tmister ex\n", "words.tsv"));
  const auto text = cutter.cut(
      "<speak>Mr  X says<break time='300ms'/><voice name='anna'><prosody rate='fast'>a longer "
      "sentence</prosody></voice>.<break time='1s'/></speak>",
      "text");
  std::string told;
  for (const auto& piece : text.pieces) {
    told += fmt::format("{} {}|{}|{}|{}\n", piece.number, piece.pause_ms, piece.text, piece.voice,
                        piece.rate);
  }
  EXPECT_EQ(told,
            "0 0|mister||1\n1 0|ex says||1\n2 300|a longer|anna|1.25\n3 0|sentence|anna|1.25\n4 "
            "0|.||1\n");
  EXPECT_EQ(text.pause_ms, 1000);
}

TEST_F(TextPieces, ATextWithoutMarksIsCutAsItAlwaysWas) {
  TextCutter cutter(vocabulary_, Language::En, 30);
  const std::string text = "One  sentence. Another one\nof two lines, which is a bit longer. End.";
  const auto marked = cutter.cut(text, "text").pieces;
  const auto plain = pieces(text, 30);
  ASSERT_EQ(marked.size(), plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(marked[i].ids, plain[i].ids);
    EXPECT_EQ(marked[i].number, plain[i].number);
    EXPECT_EQ(marked[i].pause_ms, 0);
  }
}

TEST_F(TextPieces, ALanguageThatTheVocabularyDoesNotKnowIsRefusedWhereItIsNamed) {
  TextCutter cutter(vocabulary_, Language::En, 30);
  EXPECT_THROW(cutter.cut("<speak>a <lang xml:lang='fr'>b</lang></speak>", "text"), ConfigError);
  EXPECT_THROW(TextCutter(vocabulary_, Language::Fr, 30), ConfigError);
}

}  // namespace
}  // namespace myxtts::text_pieces_test
