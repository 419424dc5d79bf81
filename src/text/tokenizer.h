// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/language.h"
#include "text/vocabulary.h"

namespace myxtts {

// Clean text to token ids, equal to the `tokenizers` library for the vocabularies that Vocabulary
// reads.
//
// Added tokens are cut out first; what lies between is split into words; in each word the letters
// merge, the pair of lowest rank first. Time is n log n in the length of a word.
//
// Any number of threads may call it at once. The vocabulary must outlive it.
class Tokenizer {
 public:
  explicit Tokenizer(const Vocabulary& vocabulary);

  // `text` is valid UTF-8; blanks count only if they were written as [SPACE].
  std::vector<TokenId> encode(std::string_view text) const;

  // The signs of such a text that become [UNK], each once, in their order.
  std::vector<char32_t> unknown_signs(std::string_view text) const;

 private:
  class Word;

  template <typename OnPlain, typename OnAdded>
  void cut_added_tokens(std::string_view text, const OnPlain& on_plain,
                        const OnAdded& on_added) const;
  void encode_plain(std::string_view text, Word& word, std::vector<TokenId>& ids) const;

  const Vocabulary& vocabulary_;
  std::vector<bool> starts_added_token_;  // by byte
};

// The words of a text without added tokens: runs of letters, and runs of other marks, between
// blanks. Tokens never reach across their borders. `text` is valid UTF-8.
std::vector<std::string_view> split_words(std::string_view text);

struct EncodedText {
  std::string clean;
  std::vector<TokenId> ids;  // the language's tag first; without [START] and [STOP]
};

// Text to the ids that XTTS is given: cleaned, tagged with its language, tokenised.
//
// Any number of threads may call it at once. The vocabulary must outlive it.
class TextEncoder {
 public:
  // Throws ConfigError when the vocabulary does not know the language, naming those it knows and
  // how to add one.
  TextEncoder(const Vocabulary& vocabulary, Language language);

  // Invalid UTF-8 becomes U+FFFD.
  EncodedText encode(std::string_view text) const;

  // Whether nothing of the text is known to the vocabulary, so that nothing could be spoken.
  bool is_unknown(const EncodedText& text) const;

  // The signs of an EncodedText's `clean` that the vocabulary does not know, each once.
  std::vector<char32_t> unknown_signs(std::string_view clean) const {
    return tokenizer_.unknown_signs(clean);
  }

 private:
  const Vocabulary& vocabulary_;
  Tokenizer tokenizer_;
  Language language_;
};

}  // namespace myxtts
