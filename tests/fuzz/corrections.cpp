// SPDX-License-Identifier: Apache-2.0
// corrections.json, which the page of clips saves.
#include "clips/corpus_folder.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  return fuzz::parse([&] { parse_corrections(fuzz::text_of(data, size), "corrections"); });
}
