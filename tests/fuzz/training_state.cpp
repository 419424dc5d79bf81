// SPDX-License-Identifier: Apache-2.0
// state.json of a checkpoint.
#include "run/training_state.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  return fuzz::parse([&] { read_training_state(fuzz::file_of(data, size)); });
}
