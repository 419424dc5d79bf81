// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace myxtts {

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
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace myxtts
