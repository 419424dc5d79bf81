// SPDX-License-Identifier: Apache-2.0
#include "text/cleaner.h"

#include "base/error.h"
#include "text/chinese_numbers.h"
#include "text/japanese.h"
#include "text/korean.h"
#include "text/money.h"
#include "text/number_steps.h"
#include "text/persian.h"
#include "text/pinyin.h"
#include "text/replacements.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

// Lower-casing would make i and a dot above of the first.
void lower_turkish_letters(std::string& text) {
  replace_all(text, "İ", "i");
  replace_all(text, "Ö", "ö");
  replace_all(text, "Ü", "ü");
}

}  // namespace

std::string clean_text(std::string_view utf8, Language language) {
  std::string text = repair_utf8(utf8);
  if (language == Language::Ja) return JapaneseReader::shared().romanise(text);
  if (language == Language::Fa) return clean_persian(text);
  replace_all(text, "\"", "");
  if (language == Language::Tr) lower_turkish_letters(text);
  text = to_lower(text);
  text = language == Language::Zh ? expand_chinese_numbers(text)
                                  : expand_numbers(std::move(text), language);
  text = expand_abbreviations(std::move(text), language);
  text = expand_symbols(text, language);
  if (language == Language::Zh) return Pinyin::shared().transliterate(text);
  if (language == Language::Ko) return romanise_korean(text);
  return text;
}

}  // namespace myxtts
