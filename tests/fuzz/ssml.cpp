// SPDX-License-Identifier: Apache-2.0
// What a text asks for: pauses in plain text, and documents in SSML.
#include "fuzz/fuzz_input.h"
#include "text/markup.h"
#include "text/unicode.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  const std::string text = repair_utf8(fuzz::text_of(data, size));
  return fuzz::parse([&] { read_marked_text(text, Language::En, "text"); });
}
