// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/language.h"
#include "text/text_encoder.h"

namespace myxtts {

// A part of a text that is spoken in one go.
struct TextPiece {
  std::string text;
  std::vector<std::int64_t> ids;  // without START and STOP
  std::uint32_t number = 0;       // within its text, from 0
};

// Long text as pieces that the model can take: by sentences, and where one still has more than
// `most_tokens` tokens, in halves at a blank. Every word is in exactly one piece. A text of blanks
// has no pieces.
std::vector<TextPiece> text_pieces(std::string_view text, Language language,
                                   const TextEncoder& encoder, std::int64_t most_tokens);

}  // namespace myxtts
