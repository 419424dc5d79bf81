// SPDX-License-Identifier: Apache-2.0
// The JSON bodies that serve reads, from anybody who reaches its port.
#include "fuzz/fuzz_input.h"
#include "serve/speech_order.h"
#include "serve/voice_store.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  constexpr std::size_t kMostText = 1000;
  const std::string_view body = fuzz::text_of(data, size);
  fuzz::parse([&] { sampling_of(parse_openai_order(body, kMostText).sampling, {}); });
  fuzz::parse([&] {
    const XttsSettings settings = parse_xtts_settings(body, {});
    print_xtts_settings(settings);
  });
  return fuzz::parse([&] {
    const SpeechOrder order = parse_xtts_order(body, {}, kMostText);
    sampling_of(order.sampling, {});
    check_voice_name(order.voice);
  });
}
