// SPDX-License-Identifier: Apache-2.0
// config.json of a model, and the tensors that follow from its sizes.
#include "config/model_json.h"
#include "fuzz/fuzz_input.h"
#include "model/checkpoint_specs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  const std::string_view json = fuzz::text_of(data, size);
  fuzz::parse([&] { checkpoint_specs(parse_model_config(json, "config.json")); });
  fuzz::parse([&] { parse_reference_config(json, "config.json"); });
  fuzz::parse([&] { parse_licence(json, "config.json"); });
  return fuzz::parse([&] {
    const TextIds ids{.count = 30, .start = 3, .stop = 0};
    public_config(with_text_ids(json, ids, "config.json"), "config.json");
  });
}
