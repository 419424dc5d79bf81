// SPDX-License-Identifier: Apache-2.0
// The file of --subtitles: SubRip or WebVTT.
#include "clips/subtitles.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  return fuzz::parse([&] { parse_subtitles(fuzz::text_of(data, size), "subtitles"); });
}
