// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/language.h"

namespace myxtts {

// A stretch of text that is spoken in one manner.
struct MarkedSpan {
  std::string text = {};  // not blank
  Language language = Language::En;
  std::string voice = {};     // a name; empty: the voice of the request
  double rate = 1.0;          // times the speed of the request
  std::int64_t pause_ms = 0;  // silence before it
};

// What a text asks for.
struct MarkedText {
  std::vector<MarkedSpan> spans = {};
  std::int64_t pause_ms = 0;  // silence after the last span
};

// Whether a text is a document in SSML: it begins with "<speak" or, in its whole form, "<?xml".
bool is_ssml(std::string_view text);

// Reads a text in which [pause], [pause 500ms] and [pause 1.5s] are silence;; or a
// document in a part of SSML: speak, p, s, break, prosody rate, lang, voice, sub
// and say-as. `language` is that of the request. The text is valid UTF-8; `subject` opens messages.
// Throws DataError with line and column for marks and documents that cannot be followed: nothing is
// left out unsaid. Any thread may call it.
MarkedText read_marked_text(std::string_view text, Language language, const std::string& subject);

}  // namespace myxtts
