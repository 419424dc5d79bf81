// SPDX-License-Identifier: Apache-2.0
// Parity on sentences is in text_golden_test.
#include "text/transliteration.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary_folder.h"
#include "text/language.h"
#include "text/unicode.h"

namespace myxtts::japanese_test {
namespace {

TEST(TextData, SetUpHasFetchedTheTablesAndTheDictionary) {
  EXPECT_TRUE(find_text_data("pypinyin")) << "run tools/setup";
  EXPECT_TRUE(find_text_data("unidic")) << "run tools/setup";
}

TEST(JapaneseReader, ReadsWordsParticlesAndForeignWords) {
  const JapaneseReader& reader = JapaneseReader::shared();
  EXPECT_EQ(reader.romanise("母は駅前でパンを買った。"), "haha wa ekimae de pao wo katta.");
  EXPECT_EQ(reader.romanise("３時にメールを送って。"), "3 ji ni mail wo okutte.");
  EXPECT_EQ(reader.romanise("「いってきます」と言った。"), "\"itte kimasu\" to itta.");
  EXPECT_EQ(reader.romanise(""), "");
}

TEST(JapaneseReader, ManyThreadsMayShareOne) {
  const JapaneseReader& reader = JapaneseReader::shared();
  const std::string text = "今日は天気がいいから散歩に行きましょう。";
  const std::string expected = reader.romanise(text);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) count += reader.romanise(text) != expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(JapaneseReader, AFolderWithoutADictionaryIsRefusedWithTheRemedy) {
  test::TemporaryFolder folder;
  try {
    const JapaneseReader reader(folder.path());
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("tools/setup"), std::string::npos) << error.what();
  }
}

// A doubled consonant takes the first letter of what follows, which need not be one byte.
TEST(JapaneseReader, ADoublingBeforeWhatIsNoLetterStaysText) {
  const JapaneseReader& reader = JapaneseReader::shared();
  for (const char* text : {"っ っ", "あっ٣", "っ", "あっっか"}) {
    const std::string read = reader.romanise(text);
    EXPECT_EQ(first_invalid_utf8(read), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace myxtts::japanese_test
