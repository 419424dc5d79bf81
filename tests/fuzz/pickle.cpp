// SPDX-License-Identifier: Apache-2.0
// The pickle in a .pth file, which must stay inert.
#include "weights/pickle.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  return fuzz::parse([&] {
    const PickleTree tree = read_pickle(fuzz::bytes_of(data, size), 1U << 20U, "input.pth");
    tree.describe(tree.root());
    tree.find(tree.root(), "model");
    tree.is_global(tree.root(), "torch", "FloatStorage");
  });
}
