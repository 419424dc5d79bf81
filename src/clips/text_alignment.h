// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "clips/clip_list.h"
#include "clips/spoken_words.h"
#include "listen/word_times.h"

namespace myxtts {

// What is heard in one recording, in order.
using HeardWords = std::vector<TimedWord>;

// A text laid along what is heard of it: which word of it is said when.
//
// Where both have the same rare words in the same order they hold on to one another; between those
// the words are compared letter by letter, as they are read aloud, so that numbers and
// abbreviations match their words, and words that were heard wrongly the right ones. What is in one
// alone is left out there and changes nothing behind it. Immutable; any thread.
class TextAlignment {
 public:
  // `text` is UTF-8, of a whole book or of one chapter; the recordings are read from it in order,
  // or each on its own where their order is another. 100,000 words take seconds. `subject` names
  // the text in messages. Throws DataError where it is a text of something else, ConfigError for
  // what is no code of a language.
  TextAlignment(std::string text, std::vector<HeardWords> recordings, std::string_view language,
                const std::string& subject);

  // The text of what is said between two times of a recording, as the text spells it. Confidence
  // is the share of letters that text and recogniser agree on, where a letter that was heard as
  // another in a word that both have counts as a third of one that only one of them has; of a clip
  // whose first or last word is not in the text, or that has words inside which the other lacks,
  // the doubt says so. Nothing: the text has nothing there.
  std::optional<ClipText> text_between(std::size_t recording, double begin, double end) const;

  // Passages of at least four words that were not read, or that the recogniser did not hear, as the
  // text spells them and in its order.
  std::vector<std::string> unread() const;

  // Of the words that are heard, the share that was found in the text; of one recording.
  double found_share() const;
  double found_share(std::size_t recording) const;

 private:
  std::vector<std::size_t> reading_order() const;
  void require_same_text(const std::string& subject) const;
  std::pair<std::size_t, std::size_t> heard_between(std::size_t recording, double begin,
                                                    double end) const;
  std::span<const WordMatch> matches_in(std::size_t recording, std::size_t from,
                                        std::size_t to) const;
  std::string spelled(std::size_t first, std::size_t last) const;
  std::string spelled(std::span<const WordMatch> matches) const;
  std::string heard_text(std::size_t recording, std::size_t from, std::size_t to) const;

  std::string text_;
  std::vector<HeardWords> recordings_;
  std::vector<SpokenWord> words_;                // of the text
  std::vector<std::vector<SpokenWord>> heard_;   // of each recording; source: the heard word
  std::vector<std::vector<WordMatch>> matches_;  // of each recording, first: the text's words
};

}  // namespace myxtts
