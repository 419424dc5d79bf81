// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl of a run that is resumed. The first byte is where its checkpoint says that it ends.
#include "run/metrics_log.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  if (size == 0) return 0;
  const auto path = fuzz::file_of(data + 1, size - 1);
  return fuzz::parse([&] { MetricsLog(path, data[0], 10).add("train", 11, {{"loss", 2.5}}); });
}
