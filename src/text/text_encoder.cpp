// SPDX-License-Identifier: Apache-2.0
#include "text/text_encoder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "text/cleaner.h"

namespace myxtts {

TextEncoder::TextEncoder(const Vocabulary& vocabulary, Language language)
    : vocabulary_(vocabulary), tokenizer_(vocabulary), language_(language) {
  if (!vocabulary.find(language_tag(language))) {
    throw ConfigError(
        fmt::format("The vocabulary has no token {} and so cannot encode \"{}\"; it knows {}. "
                    "Choose one of these, or add "
                    "the language with: myxtts vocab extend --vocab FILE --language {} --text "
                    "SENTENCES --out NEW.json",
                    language_tag(language), language_code(language),
                    fmt::join(vocabulary.languages(), ", "), language_code(language)));
  }
}

EncodedText TextEncoder::encode(std::string_view text) const {
  EncodedText result;
  result.clean = clean_text(text, language_);
  std::string tagged = language_tag(language_);
  tagged.reserve(tagged.size() + result.clean.size() * 2);
  for (const char c : result.clean) {
    if (c == ' ') {
      tagged += "[SPACE]";
    } else {
      tagged += c;
    }
  }
  result.ids = tokenizer_.encode(tagged);
  return result;
}

bool TextEncoder::is_unknown(const EncodedText& text) const {
  const auto space = vocabulary_.find("[SPACE]");
  return text.ids.size() > 1 && std::all_of(text.ids.begin() + 1, text.ids.end(), [&](TokenId id) {
           return id == vocabulary_.unknown() || id == space;
         });
}

}  // namespace myxtts
