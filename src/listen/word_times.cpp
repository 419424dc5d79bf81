// SPDX-License-Identifier: Apache-2.0
#include "listen/word_times.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::string_view kUnknown = "\uFFFD";
// As in OpenAI's program.
constexpr std::string_view kWithoutBlanks[] = {"zh", "ja", "th", "lo", "my", "yue"};
// With those of Persian, Hindi, French and German, which it lacks.
constexpr std::u32string_view kOpening = U"\"'“¿([{-¡«‘„—–";
constexpr std::u32string_view kClosing = U"\"'.。,，!！?？:：”)]}、;…»’؟،؛।";
constexpr std::u32string_view kSentenceEnds = U".。!！?？";
constexpr double kLongestUsual = 0.7;  // seconds that the usual word is taken to last at most
constexpr double kTooLong = 2;         // usual words that one at a border may last
constexpr double kPause = 4;           // usual words behind which a word stands after a pause

bool is_ascii_sign(char32_t c) {
  return c > 0x20 && c < 0x7F && !is_word(c);
}

// Nothing but ASCII signs, of which "_" is one; blanks alone are such too.
bool is_sign_alone(std::string_view text) {
  const std::string_view core = strip_spaces(text);
  return std::ranges::all_of(
      core, [](char c) { return c == '_' || is_ascii_sign(static_cast<unsigned char>(c)); });
}

bool is_one_of(std::string_view text, std::u32string_view signs) {
  if (text.empty()) return false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    if (signs.find(c) == std::u32string_view::npos) return false;
    at += U8_LENGTH(static_cast<UChar32>(c));
  }
  return true;
}

// Tokens that together are whole characters. A token may hold half a character; what never becomes
// one stays with the tokens behind it.
std::vector<TokenWord> whole_characters(const WhisperVocabulary& vocabulary,
                                        std::span<const std::int64_t> tokens) {
  const std::string whole = vocabulary.text_of(tokens);
  std::vector<TokenWord> parts;
  std::size_t first = 0;
  std::size_t length = 0;  // bytes of `whole` that the parts before hold
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string text = vocabulary.text_of(tokens.subspan(first, i + 1 - first));
    const auto broken = text.find(kUnknown);
    const bool is_whole =
        broken == std::string::npos || std::string_view(whole)
                                           .substr(std::min(length + broken, whole.size()))
                                           .starts_with(kUnknown);
    if (!is_whole && i + 1 < tokens.size()) continue;
    length += text.size();
    parts.push_back({.text = std::move(text), .first = first, .count = i + 1 - first});
    first = i + 1;
  }
  return parts;
}

double usual_length(std::span<const TimedWord> words) {
  std::vector<double> lengths;
  for (const TimedWord& word : words) {
    if (word.end > word.begin) lengths.push_back(word.end - word.begin);
  }
  if (lengths.empty()) return 0;
  std::ranges::sort(lengths);
  const std::size_t middle = lengths.size() / 2;
  const double median =
      lengths.size() % 2 == 1 ? lengths[middle] : (lengths[middle - 1] + lengths[middle]) / 2;
  return std::min(kLongestUsual, median);
}

}  // namespace

bool has_blanks(std::string_view language) {
  return std::ranges::find(kWithoutBlanks, language) == std::end(kWithoutBlanks);
}

std::vector<TokenWord> split_into_words(const WhisperVocabulary& vocabulary,
                                        std::span<const std::int64_t> tokens,
                                        std::string_view language) {
  std::vector<TokenWord> parts = whole_characters(vocabulary, tokens);
  if (!has_blanks(language)) return parts;
  std::vector<TokenWord> words;
  for (TokenWord& part : parts) {
    if (words.empty() || part.text.starts_with(' ') || is_sign_alone(part.text)) {
      words.push_back(std::move(part));
      continue;
    }
    words.back().text += part.text;
    words.back().count += part.count;
  }
  return words;
}

void join_signs(std::vector<TimedWord>& words) {
  for (std::size_t i = words.size(); i-- > 1;) {
    TimedWord& before = words[i - 1];
    if (!before.text.starts_with(' ') || !is_one_of(strip_spaces(before.text), kOpening)) continue;
    words[i].text.insert(0, before.text);
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) - 1);
  }
  std::vector<TimedWord> joined;
  for (TimedWord& word : words) {
    const bool is_joined =
        !joined.empty() && !joined.back().text.ends_with(' ') && is_one_of(word.text, kClosing);
    if (is_joined) {
      joined.back().text += word.text;
    } else {
      joined.push_back(std::move(word));
    }
  }
  words = std::move(joined);
}

void shorten_at_pauses(std::vector<TimedWord>& words, double last_speech) {
  const double usual = usual_length(words);
  if (usual == 0) {
    join_signs(words);
    return;
  }
  const double longest = kTooLong * usual;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].end - words[i].begin <= longest) continue;
    if (is_one_of(words[i].text, kSentenceEnds)) {
      words[i].end = words[i].begin + longest;
    } else if (is_one_of(words[i - 1].text, kSentenceEnds)) {
      words[i].begin = words[i].end - longest;
    }
  }
  join_signs(words);
  TimedWord& first = words.front();
  if (first.end - last_speech <= kPause * usual) return;
  const bool has_second = words.size() > 1;
  const bool is_long = first.end - first.begin > longest;
  if (!is_long && !(has_second && words[1].end - first.begin > kTooLong * longest)) return;
  if (has_second && words[1].end - words[1].begin > longest) {
    first.end = words[1].begin = std::max(words[1].end / 2, words[1].end - longest);
  }
  first.begin = std::max(0.0, first.end - longest);
}

std::vector<std::int64_t> warp(std::span<const float> likeness, std::size_t rows,
                               std::size_t columns) {
  MYXTTS_CHECK(rows > 0 && columns > 0 && likeness.size() == rows * columns,
               "{} numbers are no table of {} x {}", likeness.size(), rows, columns);
  enum Step : std::uint8_t { Both, Row, Column };
  std::vector<Step> steps(rows * columns);
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  std::vector<double> above(columns, kNever);
  std::vector<double> best(columns);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      const double both = column > 0 ? above[column - 1] : (row == 0 ? 0.0 : kNever);
      const double down = row > 0 ? above[column] : kNever;
      const double right = column > 0 ? best[column - 1] : kNever;
      const double most = std::max({both, down, right});
      const bool is_both = both > down && both > right;
      const bool is_row = !is_both && down > both && down > right;
      steps[row * columns + column] = is_both ? Both : (is_row ? Row : Column);
      best[column] = (row == 0 && column == 0 ? 0.0 : most) + likeness[row * columns + column];
    }
    std::swap(above, best);
  }
  std::vector<std::int64_t> entered(rows);
  std::size_t row = rows - 1;
  std::size_t column = columns - 1;
  while (row > 0 || column > 0) {
    entered[row] = static_cast<std::int64_t>(column);
    // Along the borders there is one way.
    const Step step = row == 0 ? Column : (column == 0 ? Row : steps[row * columns + column]);
    if (step != Column) --row;
    if (step != Row) --column;
  }
  entered[0] = 0;
  return entered;
}

}  // namespace myxtts
