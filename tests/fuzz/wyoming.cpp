// SPDX-License-Identifier: Apache-2.0
// The lines of the Wyoming protocol. The first byte is the length of the pieces that they come in.
#include <algorithm>

#include "fuzz/fuzz_input.h"
#include "serve/wyoming_event.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0];
  std::string_view rest = fuzz::text_of(data + 1, size - 1);
  return fuzz::parse([&] {
    WyomingReader reader;
    SentenceCollector sentences;
    while (!rest.empty()) {
      reader.add(rest.substr(0, piece));
      rest.remove_prefix(std::min(piece, rest.size()));
      while (const auto event = reader.next()) {
        print_event(*event);
        sentences.add(event->payload);
      }
    }
    sentences.rest();
  });
}
