// SPDX-License-Identifier: Apache-2.0
#include "synth/text_pieces.h"

#include <unicode/utf8.h>

#include "base/error.h"
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
    pieces.push_back({std::string(stripped),
                      {encoded.ids.begin(), encoded.ids.end()},
                      static_cast<std::uint32_t>(pieces.size())});
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

}  // namespace myxtts
