// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clips/clip_text.h"
#include "clips/word_alignment.h"
#include "listen/word_times.h"

namespace myxtts {

// What is heard in one recording, in order.
using HeardWords = std::vector<TimedWord>;

// A part of the text that was not read, or that the recogniser did not hear.
struct UnreadPassage {
  std::size_t begin = 0;  // bytes of the text
  std::size_t end = 0;
  std::int64_t words = 0;
};

// Words that are heard where the text has none.
struct StrangeSound {
  std::size_t recording = 0;
  double begin = 0;  // seconds
  double end = 0;
  std::string heard = {};
  bool is_repetition = false;  // of what is read right after it: the reader began again
};

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

  // In the order of the text; those of at least four words.
  const std::vector<UnreadPassage>& unread() const { return unread_; }
  // By recording and time; those of at least two words.
  const std::vector<StrangeSound>& strange() const { return strange_; }

  // Of the words that are heard, the share that was found in the text; of one recording.
  double found_share() const;
  double found_share(std::size_t recording) const;

  const std::string& text() const { return text_; }

 private:
  // A word of the text, or one that is heard; letters and digits.
  struct Word {
    std::size_t begin = 0;  // bytes of the text; of the heard word's own
    std::size_t end = 0;
    std::size_t heard = 0;    // number of the heard word that it is of
    std::int32_t number = 0;  // of its letters
    std::int64_t letters = 0;
  };

  void add_unread();
  void add_strange(std::size_t recording, const SpokenWords& spoken);
  bool repeats(std::size_t recording, std::size_t begin, std::size_t end,
               const SpokenWords& spoken) const;
  std::vector<std::size_t> reading_order() const;
  void require_same_text(const std::string& subject) const;
  std::string spelled(std::size_t first, std::size_t last) const;

  std::string text_;
  std::vector<HeardWords> recordings_;
  std::vector<Word> words_;                      // of the text
  std::vector<std::vector<Word>> heard_;         // of each recording
  std::vector<std::vector<WordMatch>> matches_;  // of each recording, first: the text's words
  std::vector<UnreadPassage> unread_;
  std::vector<StrangeSound> strange_;
};

}  // namespace myxtts
