// SPDX-License-Identifier: Apache-2.0
// NAME.part.json: how much of a file pull has fetched.
#include "fetch/http_file.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  fuzz::put_file(fuzz::folder() / "model.pth.part.json", fuzz::text_of(data, size));
  return fuzz::parse([] {
    bytes_present({.name = "model.pth", .url = "https://hub.example/model.pth", .size = 1000},
                  fuzz::folder());
  });
}
