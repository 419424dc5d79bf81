// SPDX-License-Identifier: Apache-2.0
// The zip archive around a .pth file.
#include "weights/zip.h"
#include "fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace myxtts;
  return fuzz::parse([&] {
    const ZipReader reader(fuzz::bytes_of(data, size), "input.pth");
    reader.find("archive/data.pkl");
    for (const ZipEntry& entry : reader.entries()) {
      fuzz::parse([&] { reader.verify(entry); });
    }
  });
}
