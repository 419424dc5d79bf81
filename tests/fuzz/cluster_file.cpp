// SPDX-License-Identifier: Apache-2.0
// The file of --cluster.
#include "diagnose/scaling/cluster.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  return fuzz::parse([&] { parse_cluster(fuzz::text_of(data, size), {}); });
}
