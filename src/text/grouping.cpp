// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include <unicode/utf8.h>

#include "text/number_steps.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

// Finds what the expression  B \d{1,3} (?: M \d{3})* (?: T \d+)? B  matches, where M is the group
// mark and T the decimal mark, with the choices a backtracking matcher makes.
//
// Linear: a chain of groups that passes a character outside words has a boundary there and so
// matches at least up to it. What was read in vain lies in one word, and a word is entered only at
// its start.
class GroupedNumber {
 public:
  GroupedNumber(std::string_view text, Grouping grouping) : text_(text), grouping_(grouping) {}

  // The end of the match that starts at `start`, where a word boundary and a digit are.
  [[nodiscard]] std::optional<std::size_t> match(std::size_t start) const {
    std::optional<std::size_t> ends[3];  // after one, two and three digits
    std::size_t at = start;
    for (auto& end : ends) {
      const auto next = skip_digit(at);
      if (!next) break;
      end = at = *next;
    }
    for (std::size_t count = 3; count > 0; --count) {
      if (!ends[count - 1]) continue;
      if (const auto end = match_groups(*ends[count - 1])) return end;
    }
    return std::nullopt;
  }

 private:
  // The longest chain of groups is preferred; the last place in it where the number may end counts.
  [[nodiscard]] std::optional<std::size_t> match_groups(std::size_t at) const {
    std::optional<std::size_t> best = match_tail(at);
    while (const auto next = skip_group(at)) {
      at = *next;
      if (const auto end = match_tail(at)) best = end;
    }
    return best;
  }

  [[nodiscard]] std::optional<std::size_t> match_tail(std::size_t at) const {
    const char mark = grouping_ == Grouping::Comma ? '.' : ',';
    if (at < text_.size() && text_[at] == mark) {
      std::size_t end = at + 1;
      while (const auto next = skip_digit(end)) end = *next;
      if (end > at + 1 && !word_at(end)) return end;
    }
    return word_at(at) ? std::nullopt : std::optional(at);
  }

  [[nodiscard]] std::optional<std::size_t> skip_group(std::size_t at) const {
    const char32_t mark = code_point_at(text_, at);
    if (mark == kNoCodePoint || mark == '\n') return std::nullopt;
    if (grouping_ == Grouping::Comma && mark != ',') return std::nullopt;
    std::optional<std::size_t> end = at + static_cast<std::size_t>(U8_LENGTH(mark));
    for (int digit = 0; digit < 3 && end; ++digit) end = skip_digit(*end);
    return end;
  }

  [[nodiscard]] std::optional<std::size_t> skip_digit(std::size_t at) const {
    const char32_t c = code_point_at(text_, at);
    if (c == kNoCodePoint || !is_digit(c)) return std::nullopt;
    return at + static_cast<std::size_t>(U8_LENGTH(c));
  }

  [[nodiscard]] bool word_at(std::size_t at) const {
    const char32_t c = code_point_at(text_, at);
    return c != kNoCodePoint && is_word(c);
  }

  std::string_view text_;
  Grouping grouping_;
};

void append_without(std::string& out, std::string_view text, char deleted) {
  for (const char c : text) {
    if (c != deleted) out += c;
  }
}

}  // namespace

std::string remove_grouping(std::string text, Grouping grouping) {
  const char deleted = grouping == Grouping::Comma ? ',' : '.';
  if (text.find(deleted) == std::string::npos) return text;
  const GroupedNumber number(text, grouping);
  std::string out;
  std::size_t copied = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    const auto end = !in_word && is_digit(c) ? number.match(at) : std::nullopt;
    if (end) {
      out.append(text, copied, at - copied);
      append_without(out, std::string_view(text).substr(at, *end - at), deleted);
      at = copied = *end;
      in_word = true;
      continue;
    }
    in_word = is_word(c);
    at += static_cast<std::size_t>(U8_LENGTH(c));
  }
  return out.append(text, copied, std::string::npos);
}

}  // namespace myxtts
