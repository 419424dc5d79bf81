// SPDX-License-Identifier: Apache-2.0
#include "text/sentences.h"

#include <algorithm>
#include <cstddef>

#include <unicode/uchar.h>

#include "text/unicode.h"
#include "text/word_tokens.h"

namespace myxtts {
namespace {

constexpr std::u32string_view kSentenceEnds = U"!.?։؟۔।॥‼‽⁇⁈⁉﹒﹖﹗！．？｡。";

bool ends_sentence(std::u32string_view token) {
  return token.size() == 1 && kSentenceEnds.find(token[0]) != kSentenceEnds.npos;
}

bool is_all_punctuation(std::u32string_view token) {
  return std::all_of(token.begin(), token.end(), [](char32_t c) {
    return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_P_MASK) != 0;
  });
}

// A sentence begins with the first word after the mark that ended the one before.
std::vector<std::u32string_view> sentences(std::u32string_view text, Language language) {
  std::vector<std::u32string_view> result;
  const auto tokens = word_tokens(text, language);
  std::size_t begin = 0;
  std::size_t end = 0;
  bool ended = false;
  for (const TextSpan& token : tokens) {
    const auto word = text.substr(token.begin, token.end - token.begin);
    if (ends_sentence(word)) {
      ended = true;
    } else if (ended && !is_all_punctuation(word)) {
      result.push_back(text.substr(begin, end - begin));
      begin = token.begin;
      ended = false;
    }
    end = token.end;
  }
  if (end > begin) result.push_back(text.substr(begin, end - begin));
  return result;
}

bool is_plain_blank(char32_t c) {
  return c == U' ' || (c >= U'\t' && c <= U'\r');
}

bool is_blank(std::u32string_view text) {
  return std::all_of(text.begin(), text.end(), is_space);
}

// Words and runs of blanks in turn; every blank as a space.
std::vector<std::u32string> words_and_blanks(std::u32string_view text) {
  std::vector<std::u32string> result;
  bool blank = false;
  for (const char32_t c : text) {
    if (result.empty() || is_plain_blank(c) != blank) {
      result.emplace_back();
      blank = is_plain_blank(c);
    }
    result.back() += blank ? U' ' : c;
  }
  return result;
}

// Lines of at most `width` code points, filled with whole words; a longer word is cut where the
// line is full.
std::vector<std::u32string> wrap(std::u32string_view text, std::size_t width) {
  auto chunks = words_and_blanks(text);
  std::vector<std::u32string> lines;
  std::size_t next = 0;
  while (next < chunks.size()) {
    if (!lines.empty() && is_blank(chunks[next])) {
      if (++next == chunks.size()) break;
    }
    std::vector<std::u32string> line;
    std::size_t length = 0;
    const auto add = [&](std::u32string piece) {
      length += piece.size();
      line.push_back(std::move(piece));
    };
    while (next < chunks.size() && length + chunks[next].size() <= width) add(chunks[next++]);
    if (next < chunks.size() && chunks[next].size() > width) {
      const std::size_t room = width - length;
      add(chunks[next].substr(0, room));
      chunks[next].erase(0, room);
    }
    if (!line.empty() && is_blank(line.back())) line.pop_back();
    if (line.empty()) continue;
    lines.emplace_back();
    for (const auto& piece : line) lines.back() += piece;
  }
  return lines;
}

std::u32string decode(std::string_view text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    at += static_cast<std::size_t>(U8_LENGTH(c));
    result += c;
  }
  return result;
}

std::string encode(std::u32string_view text) {
  std::string result;
  for (const char32_t c : text) append_code_point(result, c);
  return result;
}

}  // namespace

std::vector<std::string> split_text(std::string_view text, Language language) {
  const std::size_t limit = length_limit(language);
  const std::u32string letters = decode(text);
  if (letters.size() < limit) return {std::string(strip_left(text))};

  std::vector<std::u32string> pieces(1);
  for (const auto sentence : sentences(letters, language)) {
    std::u32string& last = pieces.back();
    if (last.size() + sentence.size() <= limit) {
      last.append(U" ").append(sentence);
      last.erase(0, static_cast<std::size_t>(std::find_if_not(last.begin(), last.end(), is_space) -
                                             last.begin()));
    } else if (sentence.size() > limit) {
      for (auto& line : wrap(sentence, limit)) pieces.push_back(std::move(line));
    } else {
      pieces.emplace_back(sentence);
    }
  }
  if (pieces.size() > 1 && pieces.front().empty()) pieces.erase(pieces.begin());
  std::vector<std::string> result;
  for (const auto& piece : pieces) result.push_back(encode(piece));
  return result;
}

}  // namespace myxtts
