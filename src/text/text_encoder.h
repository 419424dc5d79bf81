// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/language.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

namespace myxtts {

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

 private:
  const Vocabulary& vocabulary_;
  Tokenizer tokenizer_;
  Language language_;
};

}  // namespace myxtts
