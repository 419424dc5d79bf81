// SPDX-License-Identifier: Apache-2.0
// safetensors: models, voices and checkpoints, from anywhere.
#include "weights/safetensors.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  return fuzz::parse([&] {
    const SafetensorsReader reader(fuzz::file_of(data, size));
    volatile unsigned sum = 0;
    for (const auto& [name, view] : reader.tensors()) {
      for (const std::byte byte : view.bytes) sum = sum + std::to_integer<unsigned>(byte);
      reader.at(name);
    }
    reader.at("gpt.weight");
  });
}
