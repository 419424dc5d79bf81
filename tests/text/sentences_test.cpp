// SPDX-License-Identifier: Apache-2.0
#include "text/sentences.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/crc32.h"
#include "text/unicode.h"

namespace myxtts::sentences_test {
namespace {

using Pieces = std::vector<std::string>;

std::vector<nlohmann::json> golden_rows() {
  std::ifstream file(std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/splits.jsonl");
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(file, line);) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

std::string without_blanks(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    at += static_cast<std::size_t>(U8_LENGTH(c));
    if (!is_space(c)) append_code_point(result, c);
  }
  return result;
}

// Made by tests/golden/make_splits.py.
TEST(SplitText, EqualsThePeersPiecesInEveryLanguage) {
  std::map<std::string, int> texts;
  for (const auto& row : golden_rows()) {
    const auto language = row.at(0).get<std::string>();
    const auto text = row.at(1).get<std::string>();
    const Pieces pieces = split_text(text, parse_language(language));
    std::vector<std::size_t> lengths;
    test::Crc32 crc;
    for (const std::string& piece : pieces) {
      lengths.push_back(count_code_points(piece));
      crc.add(piece + '\n');
    }
    EXPECT_EQ(lengths, row.at(2).get<std::vector<std::size_t>>()) << language << ": " << text;
    EXPECT_EQ(crc.value(), row.at(3).get<std::uint32_t>()) << language << ": " << text;
    ++texts[language];
  }
  EXPECT_EQ(texts.size(), 17U);
  for (const auto& [language, count] : texts) EXPECT_GE(count, 20) << language;
}

// In every language, also those the text is not written in.
TEST(SplitText, EveryCharacterIsInOnePieceAndEveryPieceFits) {
  for (const auto& row : golden_rows()) {
    const auto text = row.at(1).get<std::string>();
    for (const Language language : all_languages()) {
      std::string joined;
      for (const std::string& piece : split_text(text, language)) {
        // A piece that grew by a whole sentence may have one blank more than the limit.
        EXPECT_LE(count_code_points(piece), length_limit(language) + 1) << piece;
        joined += piece;
      }
      EXPECT_EQ(without_blanks(joined), without_blanks(text)) << language_code(language);
    }
  }
}

TEST(SplitText, ShortTextIsOnePieceWithoutTheBlanksBeforeIt) {
  EXPECT_EQ(split_text("  One. Two. ", Language::En), (Pieces{"One. Two. "}));
  EXPECT_EQ(split_text("", Language::En), (Pieces{""}));
}

TEST(SplitText, AWordLongerThanThePieceIsCutWhereItIsFull) {
  const Pieces pieces = split_text(std::string(600, 'y'), Language::En);
  EXPECT_EQ(pieces, (Pieces{std::string(250, 'y'), std::string(250, 'y'), std::string(100, 'y')}));
  const Pieces chinese = split_text(std::string(100, 'y'), Language::Zh);
  EXPECT_EQ(chinese, (Pieces{std::string(82, 'y'), std::string(18, 'y')}));
}

// The sentence before fills the piece, so that a split inside the word would show.
TEST(SplitText, NeverInsideANumberOrAnAbbreviation) {
  struct Case {
    Language language;
    std::string words;
  };
  for (const Case& one :
       std::vector<Case>{{Language::En, "Dr. Hall paid 3.50 at 5 p.m. to Mr. Lee"},
                         {Language::En, "e.g. 1.000.000 or 2.5% of it"},
                         {Language::Es, "El Sr. Mora pagó 3.500 a las 5 p.m. en EE.UU. ayer"},
                         {Language::De, "Dr. Lang zahlte 1.234,50 Euro"},
                         {Language::Hi, "कीमत १२.५ रुपये"},
                         {Language::Ja, "価格は1.234.567円"},
                         {Language::Fa, "قیمت ۱۲.۵ تومان"},
                         {Language::Nl, "Hij is 1,80m. en 2,5g. zwaar"}}) {
    const std::size_t limit = length_limit(one.language);
    std::string text;
    while (count_code_points(text) + 30 < limit) text += "aaaa ";
    text += "End! " + one.words;
    while (count_code_points(text) < limit) text += " c";
    bool whole = false;
    for (const std::string& piece : split_text(text, one.language)) {
      whole = whole || piece.find(one.words) != std::string::npos;
    }
    EXPECT_TRUE(whole) << one.words << "\n"
                       << nlohmann::json(split_text(text, one.language)).dump();
  }
}

TEST(SplitText, ALongTextTakesLinearTime) {
  std::string text;
  while (text.size() < 400'000) text += "One sentence, of several words. Another... “Yes.” ";
  EXPECT_GT(split_text(text, Language::En).size(), 1000U);
  EXPECT_GT(split_text(std::string(400'000, '.'), Language::En).size(), 1000U);
  EXPECT_GT(split_text(std::string(400'000, '\''), Language::En).size(), 1000U);
}

}  // namespace
}  // namespace myxtts::sentences_test
