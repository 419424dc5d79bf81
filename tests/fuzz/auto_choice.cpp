// SPDX-License-Identifier: Apache-2.0
// auto.json, and the measurements that --mode auto reads.
#include <string>

#include "diagnose/auto/choice_file.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  const std::string text(fuzz::text_of(data, size));
  fuzz::parse([&] { reading_from_json(text); });
  fuzz::parse([&] { reading_from_metrics(text, 3); });
  fuzz::put_file(fuzz::folder() / "auto.json", text);
  return fuzz::parse([] { read_choice(fuzz::folder()); });
}
