// SPDX-License-Identifier: Apache-2.0
// The index of a corpus: as it is, and with checksums that are right, as in a file that was made to
// do harm.
#include <cstring>
#include <vector>

#include "base/checksum.h"
#include "data/index/clip_index.h"
#include "data/index/clip_index_format.h"
#include "fuzz/fuzz_input.h"

namespace {

using namespace myxtts;
using index_format::Header;

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  FastChecksum sum;
  sum.add(bytes);
  return sum.value();
}

void seal(std::vector<std::byte>& image) {
  if (image.size() < sizeof(Header)) return;
  Header header;
  std::memcpy(&header, image.data(), sizeof header);
  header.body_checksum = checksum_of(std::span(image).subspan(sizeof header));
  std::memcpy(image.data(), &header, sizeof header);
  header.header_checksum = checksum_of(std::span(image).first(index_format::kCheckedHeaderBytes));
  std::memcpy(image.data(), &header, sizeof header);
}

void read_all(std::vector<std::byte> image) {
  const ClipIndex index = ClipIndex::of(std::move(image));
  for (std::size_t clip = 0; clip < index.size(); ++clip) {
    index.clip(clip);
    index.id(clip);
    index.samples(clip);
    index.text_tokens(clip);
    index.file(clip);
  }
  index.skipped();
  index.witnesses();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::bytes_of(data, size);
  std::vector<std::byte> image(bytes.begin(), bytes.end());
  fuzz::parse([&] { read_all(image); });
  seal(image);
  return fuzz::parse([&] { read_all(image); });
}
