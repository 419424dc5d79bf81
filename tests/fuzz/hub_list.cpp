// SPDX-License-Identifier: Apache-2.0
// The list of a model's files, as a hub answers pull.
#include "fetch/model_hub.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  const std::string_view list = fuzz::text_of(data, size);
  fuzz::parse([&] { files_in_list(list, "https://hub.example", parse_hub_model("xtts-v2")); });
  fuzz::parse([&] { files_in_list(list, "https://hub.example", parse_hub_model("a/b@main")); });
  return fuzz::parse([&] { parse_hub_model(list); });
}
