// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "text/language.h"
#include "text/lexicon.h"
#include "text/tokenizer.h"

namespace myxtts {

// A part of a text that is spoken in one go.
struct TextPiece {
  std::string text;
  std::vector<std::int64_t> ids;  // without START and STOP
  std::uint32_t number = 0;       // within its text, from 0
  // What the text asks for besides its words.
  Language language = Language::En;
  std::string voice = {};     // a name; empty: the voice of the request
  double rate = 1.0;          // times the speed of the request
  std::int64_t pause_ms = 0;  // silence before it
};

// A text in pieces, and the silence after the last.
struct TextPieces {
  std::vector<TextPiece> pieces = {};
  std::int64_t pause_ms = 0;
};

// Long text as pieces that the model can take: by sentences, and where one still has more than
// `most_tokens` tokens, in halves at a blank. Every word is in exactly one piece. A text of blanks
// has no pieces.
std::vector<TextPiece> text_pieces(std::string_view text, Language language,
                                   const TextEncoder& encoder, std::int64_t most_tokens);

// The same of texts that ask for more: for pauses, voices, languages and speeds by marks or SSML
// (text/markup.h), and for words to be said as a lexicon has them.
//
// One thread at a time. The vocabulary outlives it.
class TextCutter {
 public:
  // Throws ConfigError when the vocabulary does not know the language, which is that of texts that
  // name none.
  TextCutter(const Vocabulary& vocabulary, Language language, std::int64_t most_tokens,
             Lexicon lexicon = {});

  // `subject` opens messages. Throws DataError for marks and SSML that cannot be followed, and
  // ConfigError for a language that the vocabulary does not know.
  TextPieces cut(std::string_view text, const std::string& subject);

  // Signs that the vocabulary does not know, each once: a model was never taught to say them.
  std::vector<char32_t> unknown_signs(const std::vector<TextPiece>& pieces);

 private:
  const TextEncoder& encoder_of(Language language);

  const Vocabulary& vocabulary_;
  const Language language_;
  const std::int64_t most_tokens_;
  const Lexicon lexicon_;
  std::map<Language, TextEncoder> encoders_;
};

}  // namespace myxtts
