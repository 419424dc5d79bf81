// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace MeCab {
class Model;
class Tagger;
}  // namespace MeCab

namespace myxtts {

// Hangul in Latin letters, syllable by syllable, with a hyphen where two syllables could be read as
// one: 할인 becomes hal-in. Everything else stays as it is. `text` is valid UTF-8.
std::string romanise_korean(std::string_view text);

// Japanese in Latin letters: MeCab cuts the text into words and knows their readings, rules of
// spelling and spacing do the rest. Any number of threads may share one.
class JapaneseReader {
 public:
  // With the dictionary that is found beside the program, opened on first use. Throws DataError,
  // with what to type, when there is none.
  static const JapaneseReader& shared();
  // Throws DataError for a folder that holds no UniDic dictionary for MeCab.
  explicit JapaneseReader(const std::filesystem::path& dictionary);
  ~JapaneseReader();

  // `text` is valid UTF-8; the result is lower case.
  std::string romanise(std::string_view text) const;

 private:
  std::unique_ptr<MeCab::Model> model_;
  std::unique_ptr<MeCab::Tagger> tagger_;
};

// Chinese characters to their sound in Latin letters, by the tables of phrases and of single
// characters that tools/setup fetches. Immutable once read: any number of threads may share one.
class Pinyin {
 public:
  // The tables that are found beside the program, read on first use. Throws DataError, with what to
  // type, when they are not there.
  static const Pinyin& shared();
  // Throws DataError for a folder without the two tables, or with broken ones.
  explicit Pinyin(const std::filesystem::path& folder);

  // Each Chinese character becomes its syllable with the tone as a digit (5 where there is none):
  // 你好 becomes ni3hao3. Everything else stays. `text` is valid UTF-8.
  std::string transliterate(std::string_view text) const;

 private:
  void transliterate_run(std::u32string_view run, std::string& result) const;

  std::unordered_map<std::u32string, std::string> phrases_;  // at most ten characters each
  // By the first two characters, the length of the longest phrase: most pairs begin none.
  std::unordered_map<std::uint64_t, std::size_t> longest_phrases_;
  std::unordered_map<char32_t, std::string> characters_;
};

// Dates, sums of money, telephone numbers, fractions, percentages and plain numbers in Chinese
// characters; then every mark of punctuation as a comma. `text` is valid UTF-8.
std::string expand_chinese_numbers(std::string_view text);

}  // namespace myxtts
