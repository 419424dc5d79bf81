// SPDX-License-Identifier: Apache-2.0
#include "text/transliteration.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts::pinyin_test {
namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

Pinyin with_tables(const std::string& characters, const std::string& phrases) {
  test::TemporaryFolder folder;
  write(folder / "pinyin_dict.json", characters);
  write(folder / "phrases_dict.json", phrases);
  return Pinyin(folder.path());
}

TEST(Pinyin, TheLongestPhraseWinsOverItsCharacters) {
  const Pinyin tables = with_tables(R"({"34892": "xíng,háng", "38134": "yín", "20102": "le,liǎo"})",
                                    R"({"银行": [["yín"], ["háng"]]})");
  EXPECT_EQ(tables.transliterate("银行"), "yin2hang2");
  EXPECT_EQ(tables.transliterate("行"), "xing2");
  EXPECT_EQ(tables.transliterate("行了"), "xing2le5");
  EXPECT_EQ(tables.transliterate("银,行 a"), "yin2,xing2 a");
}

TEST(Pinyin, ACharacterWithoutAReadingKeepsItsPlaceWithTheNeutralTone) {
  EXPECT_EQ(with_tables("{}", "{}").transliterate("行"), "行5");
}

TEST(Pinyin, TheFetchedTablesReadWhatOneCharacterCannotTell) {
  const Pinyin& tables = Pinyin::shared();
  EXPECT_EQ(tables.transliterate("银行行长"), "yin2hang2hang2zhang3");
  EXPECT_EQ(tables.transliterate("旅行女"), "lv3xing2nv3");
}

TEST(Pinyin, DamagedTablesAreRefused) {
  const std::string good = R"({"34892": "xíng"})";
  struct Case {
    std::string characters, phrases;
  };
  for (const Case& one : std::vector<Case>{{"", "{}"},
                                           {good, ""},
                                           {"[]", "{}"},
                                           {good, R"({"银行": "yín"})"},
                                           {good, R"({"银行": [[]]})"},
                                           {good, R"({"银行": [[7]]})"},
                                           {R"({"x": "xíng"})", "{}"},
                                           {R"({"99999999999": "xíng"})", "{}"},
                                           {R"({"34892": 5})", "{}"}}) {
    EXPECT_THROW(with_tables(one.characters, one.phrases), DataError)
        << one.characters << " " << one.phrases;
  }
}

TEST(ChineseNumbers, AreReadByWhatTheyCount) {
  EXPECT_EQ(expand_chinese_numbers("2008年8月8日"), "二零零八年八月八日");
  EXPECT_EQ(expand_chinese_numbers("12.8元"), "十二点八元");
  EXPECT_EQ(expand_chinese_numbers("电话13711112222"), "电话一三七一一一一二二二二");
}

}  // namespace
}  // namespace myxtts::pinyin_test
