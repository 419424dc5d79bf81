// SPDX-License-Identifier: Apache-2.0
#include "text/vocabulary_learning.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/temporary_folder.h"
#include "text/cleaner.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace myxtts::vocabulary_extension_test {
namespace {

std::string golden(const std::string& name) {
  return std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/" + name;
}

// A small text with enough in it for 200 pieces: stems with every ending.
std::vector<std::string> persian_sentences() {
  std::vector<std::string> sentences;
  for (const std::string stem :
       {"کتاب",   "پنجره",   "گربه",   "چراغ",     "ژاله",   "پژوهشگر",      "کوچک",
        "گیاه",   "زندگی",   "پیروزی", "چگونگی",   "یکدیگر", "می\u200Cگوید", "سنگین",
        "کشاورز", "پرچمدار", "گلستان", "چهارشنبه", "دریاچه", "آپارتمان",     "ژرفا",
        "یخچال",  "کبوتر",   "پاکیزه", "نگارش",    "شکیبا",  "تاریکی",       "پلنگ",
        "گفتگو",  "کارگاه",  "بچگانه", "پیچیده",   "ویژگی"}) {
    for (const std::string verb : {"می\u200Cبینم", "نمی\u200Cخواهیم", "گرفته است", "پیدا کردند",
                                   "چیز دیگری نیست", "کجاست؟", "نزدیک پل بود."}) {
      sentences.push_back(clean_text(stem + "های " + verb + " و " + stem + "ی دیگر", Language::Fa));
    }
  }
  return sentences;
}

ExtendedVocabulary extended_by(std::size_t pieces) {
  return extend_vocabulary(test::contents_of(golden("vocab.json")), "vocab.json", "fa",
                           persian_sentences(), pieces);
}

bool holds_new_letter(const std::string& text, const ExtendedVocabulary& extended) {
  return std::any_of(extended.rows.begin() + 1, extended.rows.end(),
                     [&](const NewRow& row) { return text.find(row.token) != std::string::npos; });
}

TEST(ExtendVocabulary, OldTextsKeepTheirIdsInAllLanguages) {
  const ExtendedVocabulary extended = extended_by(200);
  const Vocabulary grown = Vocabulary::parse(extended.json, "grown.json");
  int kept = 0;
  int changed = 0;
  for (const Language language : all_languages()) {
    if (language == Language::Fa) continue;
    const TextEncoder encoder(grown, language);
    std::ifstream file(golden(std::string(language_code(language)) + ".jsonl"));
    for (std::string line; std::getline(file, line);) {
      const auto row = nlohmann::json::parse(line);
      const auto text = row.at(0).get<std::string>();
      const EncodedText now = encoder.encode(text);
      // A letter that was unknown has a token now, and only that may change a text.
      if (holds_new_letter(now.clean, extended)) {
        ++changed;
        continue;
      }
      EXPECT_EQ(now.ids, row.at(2).get<std::vector<TokenId>>()) << text;
      ++kept;
    }
  }
  EXPECT_GE(kept, 5000);
  EXPECT_LE(changed, 100);
}

TEST(ExtendVocabulary, OldTokensAndMergesStandWhereTheyStood) {
  const auto before = nlohmann::json::parse(test::contents_of(golden("vocab.json")));
  const auto after = nlohmann::json::parse(extended_by(200).json);
  for (const auto& [token, id] : before["model"]["vocab"].items()) {
    EXPECT_EQ(after["model"]["vocab"].at(token), id) << token;
  }
  const auto& old_merges = before["model"]["merges"];
  for (std::size_t at = 0; at < old_merges.size(); ++at) {
    ASSERT_EQ(after["model"]["merges"][at], old_merges[at]);
  }
  EXPECT_EQ(after["model"]["merges"].size(), old_merges.size() + 200);
  EXPECT_EQ(after["added_tokens"].size(), before["added_tokens"].size() + 1);
  EXPECT_EQ(after["added_tokens"].back()["content"], "[fa]");
  EXPECT_EQ(after["added_tokens"].back()["special"], true);
}

TEST(ExtendVocabulary, LearntPiecesMakePersianShorterAndLeaveNothingUnknown) {
  const Vocabulary letters = Vocabulary::parse(extended_by(0).json, "letters.json");
  const Vocabulary pieces = Vocabulary::parse(extended_by(200).json, "pieces.json");
  const TextEncoder spell(letters, Language::Fa);
  const TextEncoder join(pieces, Language::Fa);
  const TokenId tag = extended_by(0).rows.front().id;
  std::size_t by_letters = 0;
  std::size_t by_pieces = 0;
  for (const std::string& sentence : persian_sentences()) {
    const auto spelled = spell.encode(sentence).ids;
    const auto joined = join.encode(sentence).ids;
    EXPECT_EQ(std::count(joined.begin(), joined.end(), pieces.unknown()), 0) << sentence;
    EXPECT_EQ(joined.front(), tag);
    by_letters += spelled.size();
    by_pieces += joined.size();
  }
  EXPECT_LT(by_pieces * 2, by_letters);
}

TEST(ExtendVocabulary, NewRowsFollowTheOldOnesAndSayWhereTheyComeFrom) {
  const Vocabulary old = Vocabulary::load(golden("vocab.json"));
  const ExtendedVocabulary extended = extended_by(50);
  EXPECT_EQ(extended.old_rows, old.rows());
  const auto row = [&](const std::string& token) {
    const auto found = std::find_if(extended.rows.begin(), extended.rows.end(),
                                    [&](const NewRow& one) { return one.token == token; });
    return found == extended.rows.end() ? NewRow{} : *found;
  };
  for (std::size_t at = 0; at < extended.rows.size(); ++at) {
    const NewRow& one = extended.rows[at];
    EXPECT_EQ(one.id, old.rows() + static_cast<std::int64_t>(at));
    for (const TokenId source : one.from) EXPECT_LT(source, one.id);
  }
  EXPECT_EQ(row("[fa]").from, std::vector{*old.find("[ar]")});
  EXPECT_EQ(row("پ").from, std::vector{*old.find("ب")});
  EXPECT_EQ(row("ژ").from, std::vector{*old.find("ج")});
  EXPECT_EQ(row("گ").from, std::vector{*old.find("ك")});
  EXPECT_TRUE(row("\u200C").id > 0 && row("\u200C").from.empty());
  EXPECT_EQ(extended.rows.back().from.size(), 2U);

  const auto growth = nlohmann::json::parse(growth_json(extended, "fa"));
  EXPECT_EQ(growth["old_rows"], extended.old_rows);
  EXPECT_EQ(growth["new_rows"], extended.new_rows());
  EXPECT_EQ(growth["rows"].size(), extended.rows.size());
  EXPECT_EQ(growth["rows"][0]["token"], "[fa]");
}

TEST(ExtendVocabulary, ASecondTimeIsRefused) {
  const std::string once = extended_by(5).json;
  try {
    extend_vocabulary(once, "once.json", "fa", {"سلام"}, 5);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("[fa] already"), std::string::npos) << error.what();
  }
}

TEST(ExtendVocabulary, AnotherLanguageGetsItsLettersFromTheirBase) {
  const ExtendedVocabulary extended = extend_vocabulary(test::contents_of(golden("vocab.json")),
                                                        "vocab.json", "vi", {"ế ế ếấ ếấ"}, 3);
  const Vocabulary old = Vocabulary::load(golden("vocab.json"));
  ASSERT_EQ(extended.rows.size(), 4U);  // the tag, two letters, one pair
  EXPECT_EQ(extended.rows[0].token, "[vi]");
  EXPECT_TRUE(extended.rows[0].from.empty());
  EXPECT_EQ(extended.rows[1].token, "ấ");
  EXPECT_EQ(extended.rows[1].from, std::vector{*old.find("a")});
  EXPECT_EQ(extended.rows[3].token, "ếấ");
}

TEST(ExtendVocabulary, TheFileKeepsItsFormAndWhatElseItHolds) {
  const std::string before = test::contents_of(golden("vocab.json"));
  const ExtendedVocabulary extended = extended_by(1);
  const std::size_t start = before.find("\"added_tokens\"");
  EXPECT_EQ(extended.json.substr(0, start), before.substr(0, start));  // order and indentation
  auto one_line = nlohmann::ordered_json::parse(before);
  one_line["note"] = "kept";
  const auto other = extend_vocabulary(one_line.dump(), "one.json", "fa", {"سلام"}, 0);
  EXPECT_EQ(std::count(other.json.begin(), other.json.end(), '\n'), 1);
  EXPECT_NE(other.json.find("\"note\":\"kept\""), std::string::npos);
}

}  // namespace
}  // namespace myxtts::vocabulary_extension_test
