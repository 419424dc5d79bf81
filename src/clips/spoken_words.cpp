// SPDX-License-Identifier: Apache-2.0
#include "clips/spoken_words.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "listen/character_errors.h"
#include "text/cleaner.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::u32string_view kApostrophes = U"'’ʼ`";
constexpr std::u32string_view kPoints = U".,:٫٬";   // within numbers
constexpr std::u32string_view kBefore = U"$£€¥#";   // numbers
constexpr std::u32string_view kBehind = U"%°€$£٪";  // numbers
constexpr char32_t kJoiner = 0x200C;                // keeps letters of one word apart
constexpr std::size_t kNoWord = static_cast<std::size_t>(-1);

bool is_in(std::u32string_view signs, char32_t c) {
  return signs.find(c) != std::u32string_view::npos;
}

bool is_letter(char32_t c) {
  return c != kNoCodePoint && c != '_' && (is_word(c) || is_mark(c));
}

std::size_t length_of(char32_t c) {
  return static_cast<std::size_t>(U8_LENGTH(static_cast<UChar32>(c)));
}

// The first and last byte of each word, exclusive.
std::vector<std::pair<std::size_t, std::size_t>> find_words(std::string_view text) {
  std::vector<std::pair<std::size_t, std::size_t>> words;
  std::size_t begin = kNoWord;
  char32_t before = kNoCodePoint;
  const auto end_word = [&](std::size_t end) {
    if (begin != kNoWord) words.emplace_back(begin, end);
    begin = kNoWord;
  };
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    const char32_t next = code_point_at(text, at + length_of(c));
    const bool is_inside = begin != kNoWord;
    if (is_letter(c)) {
      const bool is_mark_of_one = is_inside && is_mark(c);
      if ((is_unspaced(c) || is_unspaced(before)) && !is_mark_of_one) end_word(at);
      if (begin == kNoWord) begin = at;
    } else if (is_in(kBefore, c) && is_digit(next)) {
      end_word(at);
      begin = at;
    } else if (is_inside && is_in(kBehind, c) && is_digit(before)) {
      end_word(at + length_of(c));
    } else {
      const bool joins = is_inside && is_letter(next) &&
                         ((is_in(kApostrophes, c) && is_letter(before)) || c == kJoiner ||
                          (is_in(kPoints, c) && is_digit(before) && is_digit(next)));
      if (!joins) end_word(at);
    }
    before = c;
    at += length_of(c);
  }
  end_word(text.size());
  return words;
}

}  // namespace

std::int64_t letter_errors(std::u32string_view a, std::u32string_view b, std::int64_t most) {
  if (a.size() > b.size()) std::swap(a, b);
  if (std::ssize(b) - std::ssize(a) > most) return most + 1;
  std::vector<std::int64_t> row(a.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (const char32_t letter : b) {
    std::int64_t diagonal = row[0]++;
    std::int64_t least = row[0];
    for (std::size_t j = 0; j < a.size(); ++j) {
      const std::int64_t changed = diagonal + (letter == a[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j + 1] + 1, row[j] + 1});
      least = std::min(least, row[j + 1]);
    }
    if (least > most) return most + 1;
  }
  return std::min(row.back(), most + 1);
}

namespace {

// A number of four digits as a year is read in English, German and Dutch: "1789" is seventeen
// eighty-nine, siebzehnhundert neunundachtzig. Empty: it is none, or is read as any number is.
std::u32string year_letters(std::string_view word, Language language) {
  const std::string code = language_code(language);
  constexpr std::size_t kDigits = 4;
  const bool is_english = language == Language::En;
  const bool is_decade = is_english && word.size() == kDigits + 1 && word.back() == 's';
  const std::string_view digits = word.substr(0, kDigits);
  if ((word.size() != kDigits && !is_decade) || digits.front() == '0' ||
      digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return {};
  }
  if (!is_english && language != Language::De && language != Language::Nl) return {};
  const std::string_view rest = digits.substr(2);
  std::u32string letters = letters_heard(digits.substr(0, 2), code);
  if (language == Language::De || (is_english && rest == "00")) {
    letters += is_english ? U"hundred" : U"hundert";
  } else if (is_english && rest.front() == '0') {
    letters += U"oh";
  }
  const std::string_view last = rest.substr(rest.front() == '0' ? 1 : 0);
  if (rest != "00") letters += letters_heard(last, code);
  if (is_decade) letters += U"s";
  return letters;
}

}  // namespace

void SpokenWords::add_words(std::string_view text, std::size_t source,
                            std::vector<SpokenWord>& words) {
  for (const auto& [begin, end] : find_words(text)) {
    const std::int32_t read_as = number(text, begin, end);
    if (read_as < 0) continue;
    words.push_back({begin, end, source, read_as, std::ssize(letters(read_as))});
  }
}

// -1: no letters of it are read. With the dot behind it, since that makes an abbreviation of some.
std::int32_t SpokenWords::number(std::string_view text, std::size_t begin, std::size_t end) {
  const bool has_dot = text.substr(end).starts_with('.');
  const std::string key(text.substr(begin, end - begin + (has_dot ? 1 : 0)));
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  const std::string code = language_code(language_);
  const std::string_view core = std::string_view(key).substr(0, end - begin);
  std::u32string letters = letters_heard(core, code);
  std::u32string other = year_letters(core, language_);
  if (has_dot && other.empty()) {
    other = letters_heard(expand_abbreviations(to_lower(key), language_), code);
    if (other == letters) other.clear();
  }
  const std::int32_t number = letters.empty() ? -1 : number_of(letters, other);
  known_.emplace(key, number);
  return number;
}

std::int32_t SpokenWords::number_of(const std::u32string& letters, const std::u32string& other) {
  const std::u32string key = other.empty() ? letters : letters + U' ' + other;
  const auto [found, is_new] =
      numbers_.emplace(key, static_cast<std::int32_t>(std::ssize(letters_)));
  if (is_new) {
    letters_.push_back(letters);
    others_.push_back(other);
  }
  return found->second;
}

std::pair<std::int64_t, std::int64_t> SpokenWords::difference(std::int32_t a,
                                                              std::int32_t b) const {
  const auto longer = [](const std::u32string& one, const std::u32string& other) {
    return std::max(std::ssize(one), std::ssize(other));
  };
  if (a == b) return {0, std::ssize(letters(a))};
  std::int64_t least = longer(letters(a), letters(b));
  std::int64_t of_letters = least;
  for (const auto* first : {&letters(a), &other(a)}) {
    for (const auto* second : {&letters(b), &other(b)}) {
      if (first->empty() || second->empty()) continue;
      const auto errors = letter_errors(*first, *second, least);
      if (errors >= least) continue;
      least = errors;
      of_letters = longer(*first, *second);
    }
  }
  return {least, of_letters};
}

}  // namespace myxtts
