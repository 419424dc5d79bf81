// SPDX-License-Identifier: Apache-2.0
#include "synth/text_pieces.h"

#include <algorithm>
#include <utility>

#include <unicode/utf8.h>

#include "base/error.h"
#include "text/markup.h"
#include "text/sentences.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

// Where to cut: at the blank nearest the middle, or between the two letters there.
std::size_t middle_of(std::string_view text) {
  const std::size_t half = text.size() / 2;
  for (std::size_t away = 0; away < half; ++away) {
    if (text[half - away] == ' ') return half - away;
    if (text[half + away] == ' ') return half + away;
  }
  std::size_t at = half;
  while (at < text.size() && U8_IS_TRAIL(text[at])) ++at;
  return at;
}

void add_pieces(std::string_view text, const TextEncoder& encoder, std::int64_t most_tokens,
                std::vector<TextPiece>& pieces) {
  const auto stripped = strip_spaces(text);
  if (stripped.empty()) return;
  const auto encoded = encoder.encode(to_lower(stripped));
  const auto count = static_cast<std::int64_t>(encoded.ids.size());
  if (count <= most_tokens || stripped.size() < 2) {
    MYXTTS_CHECK(count <= most_tokens, "one letter became {} tokens", count);
    pieces.push_back({.text = std::string(stripped),
                      .ids = {encoded.ids.begin(), encoded.ids.end()},
                      .number = static_cast<std::uint32_t>(pieces.size())});
    return;
  }
  const std::size_t middle = middle_of(stripped);
  add_pieces(stripped.substr(0, middle), encoder, most_tokens, pieces);
  add_pieces(stripped.substr(middle), encoder, most_tokens, pieces);
}

}  // namespace

std::vector<TextPiece> text_pieces(std::string_view text, Language language,
                                   const TextEncoder& encoder, std::int64_t most_tokens) {
  std::vector<TextPiece> pieces;
  const std::string valid = repair_utf8(text);
  for (const auto& part : split_text(valid, language)) {
    add_pieces(part, encoder, most_tokens, pieces);
  }
  return pieces;
}

TextCutter::TextCutter(const Vocabulary& vocabulary, Language language, std::int64_t most_tokens,
                       Lexicon lexicon)
    : vocabulary_(vocabulary),
      language_(language),
      most_tokens_(most_tokens),
      lexicon_(std::move(lexicon)) {
  encoder_of(language);
}

TextPieces TextCutter::cut(std::string_view text, const std::string& subject) {
  TextPieces result;
  const auto spoken = read_marked_text(repair_utf8(text), language_, subject);
  result.pause_ms = spoken.pause_ms;
  for (const MarkedSpan& span : spoken.spans) {
    auto pieces = text_pieces(lexicon_.apply(span.text, span.language), span.language,
                              encoder_of(span.language), most_tokens_);
    if (!pieces.empty()) pieces.front().pause_ms = span.pause_ms;
    for (TextPiece& piece : pieces) {
      piece.number = static_cast<std::uint32_t>(result.pieces.size());
      piece.language = span.language;
      piece.voice = span.voice;
      piece.rate = span.rate;
      result.pieces.push_back(std::move(piece));
    }
  }
  return result;
}

std::vector<char32_t> TextCutter::unknown_signs(const std::vector<TextPiece>& pieces) {
  std::vector<char32_t> signs;
  for (const TextPiece& piece : pieces) {
    if (std::ranges::find(piece.ids, vocabulary_.unknown()) == piece.ids.end()) continue;
    const TextEncoder& encoder = encoder_of(piece.language);
    for (const char32_t sign : encoder.unknown_signs(encoder.encode(piece.text).clean)) {
      if (std::ranges::find(signs, sign) == signs.end()) signs.push_back(sign);
    }
  }
  return signs;
}

const TextEncoder& TextCutter::encoder_of(Language language) {
  const auto found = encoders_.find(language);
  if (found != encoders_.end()) return found->second;
  return encoders_.try_emplace(language, vocabulary_, language).first->second;
}

}  // namespace myxtts
