// SPDX-License-Identifier: Apache-2.0
// What is to be said: cut into pieces, cleaned by the rules of a language and turned into tokens.
// The first byte chooses the language.
#include <string>

#include "fuzz/fuzz_input.h"
#include "support/letter_vocabulary.h"
#include "text/cleaner.h"
#include "text/language.h"
#include "text/sentences.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace {

// Dictionaries are read on first use, which is no input's fault.
[[maybe_unused]] const bool kIsWarm = [] {
  for (const myxtts::Language language : myxtts::all_languages()) {
    myxtts::clean_text("1 \xe4\xb8\x80 \xe3\x81\x82", language);
  }
  return true;
}();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  static const Vocabulary kVocabulary = test::letter_vocabulary();
  static const Tokenizer kTokenizer(kVocabulary);
  if (size == 0) return 0;
  const auto languages = all_languages();
  const std::size_t number = data[0] % (languages.size() + 1);
  const Language language = number < languages.size() ? languages[number] : Language::other("ro");
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  fuzz::parse([&] { language_tag(parse_language(text)); });
  return fuzz::parse([&] {
    kTokenizer.encode(clean_text(text, language));
    if (!first_invalid_utf8(text)) split_text(text, language);
  });
}
