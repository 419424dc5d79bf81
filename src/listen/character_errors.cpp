// SPDX-License-Identifier: Apache-2.0
#include "listen/character_errors.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include "base/error.h"
#include "text/cleaner.h"
#include "text/language.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

// Compatible forms as one: full-width letters, ligatures, Arabic's presentation forms.
std::string in_one_form(std::string_view utf8) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* const forms = icu::Normalizer2::getNFKCInstance(error);
  MYXTTS_CHECK(U_SUCCESS(error), "ICU has no NFKC: {}", u_errorName(error));
  const icu::UnicodeString text = forms->normalize(to_unicode(repair_utf8(utf8)), error);
  return to_utf8(text);
}

// Those whose cleaners give the sound in Latin letters.
bool is_transliterated(Language language) {
  return language == Language::Zh || language == Language::Ja || language == Language::Ko;
}

// Letters, their marks and digits.
bool is_heard(char32_t character, Language language) {
  constexpr std::uint32_t kUnwrittenMarks = U_GC_MN_MASK;
  const std::uint32_t kind = U_MASK(u_charType(static_cast<UChar32>(character)));
  const bool drops_marks = language == Language::Ar || language == Language::Fa;
  if (drops_marks && (kind & kUnwrittenMarks) != 0) return false;
  return (kind & (U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK)) != 0;
}

// Letters of which one is often written for the other.
char32_t usual_letter(char32_t letter, Language language) {
  if (language == Language::Ru && letter == U'ё') return U'е';
  if (language != Language::Fa && language != Language::Ar) return letter;
  switch (letter) {
    case U'ي':
    case U'ى':
      return U'ی';
    case U'ك':
      return U'ک';
    case U'أ':
    case U'إ':
      return U'ا';
    default:
      return letter;
  }
}

}  // namespace

std::u32string letters_heard(std::string_view utf8, std::string_view language) {
  const Language spoken = parse_language(language);
  std::string text = to_lower(in_one_form(utf8));
  // A full stop would make an ordinal of a number before it.
  text.resize(text.find_last_not_of(". \t\r\n") + 1);
  if (!is_transliterated(spoken)) text = clean_text(text, spoken);
  std::u32string letters;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t character = code_point_at(text, at);
    at += U8_LENGTH(static_cast<UChar32>(character));
    if (is_heard(character, spoken)) letters += usual_letter(character, spoken);
  }
  return letters;
}

double CharacterErrors::rate() const {
  if (characters == 0) return errors == 0 ? 0.0 : 1.0;
  return static_cast<double>(errors) / static_cast<double>(characters);
}

CharacterErrors& CharacterErrors::operator+=(const CharacterErrors& other) {
  errors += other.errors;
  characters += other.characters;
  return *this;
}

CharacterErrors character_errors(std::string_view wanted, std::string_view heard,
                                 std::string_view language) {
  const std::u32string from = letters_heard(wanted, language);
  const std::u32string to = letters_heard(heard, language);
  std::vector<std::int64_t> row(to.size() + 1);  // edits from what was read of `from` to each start
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::int64_t diagonal = row[0]++;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::int64_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j + 1] + 1, row[j] + 1});
    }
  }
  return {.errors = row.back(), .characters = std::ssize(from)};
}

}  // namespace myxtts
