// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/language.h"

namespace myxtts {

// How words are to be said that a model reads wrongly: names, foreign words, abbreviations.
//
// A line for each: what is written, a tab, what is said in its place, and where it holds for one
// language alone another tab and its code. Empty lines and those that begin with # are left out.
//
//   # written <tab> said [<tab> language]
//   Nguyen	win
//   SQL	sequel	en
//
// What is written matches whole words; letters' case counts where it has a capital letter. Of
// several that match the longest is taken, of these the one of the language and then the one with a
// capital letter; what is said is not looked up again. Any thread may read it.
class Lexicon {
 public:
  Lexicon() = default;  // changes nothing
  // `subject` opens messages. Throws DataError with the line that cannot be read, or that says
  // something else of what an earlier line has.
  Lexicon(std::string_view text, const std::string& subject);
  static Lexicon load(const std::filesystem::path& file);

  // The text with what is said in place of what is written. Valid UTF-8 in and out; takes time
  // linear in the text, for words that few entries begin with.
  std::string apply(std::string_view text, Language language) const;

  std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::vector<std::string> words;  // what is written, word by word, in lower case
    std::string written;             // as it is, where case counts; else empty
    std::string said;
    std::optional<Language> language;
  };

  void add(std::string_view line, const std::string& place);

  std::unordered_map<std::string, std::vector<Entry>>
      entries_;  // by the first word, the best first
  std::size_t size_ = 0;
};

}  // namespace myxtts
