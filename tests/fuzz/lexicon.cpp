// SPDX-License-Identifier: Apache-2.0
// The file of --lexicon, and what it makes of a text: of itself.
#include "text/lexicon.h"

#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  const auto text = fuzz::text_of(data, size);
  return fuzz::parse([&] { Lexicon(text, "lexicon").apply(text, Language::En); });
}
