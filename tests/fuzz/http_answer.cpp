// SPDX-License-Identifier: Apache-2.0
// The header lines of a server that pull fetches from.
#include "fetch/http.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  std::string_view rest = fuzz::text_of(data, size);
  HttpAnswer answer;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    read_header(rest.substr(0, end), answer);
    rest.remove_prefix(end);
  }
  answer.content();
  status_failure(answer.status, host_of(answer.etag));
  return 0;
}
