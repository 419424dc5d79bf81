// SPDX-License-Identifier: Apache-2.0
// A shard of the feature cache and its index, with checksums that are right. The first byte is the
// length of the index; the index and the shard follow.
#include <algorithm>
#include <cstring>
#include <string>

#include "base/checksum.h"
#include "data/cache/shard.h"
#include "fuzz/fuzz_input.h"

namespace {

using namespace myxtts;

constexpr FeatureKey kKey{7};
constexpr std::size_t kIndexHeader = 48;  // its last number is the checksum

template <typename Number>
void put_number(std::string& bytes, std::size_t at, Number value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::uint64_t checksum_of(std::string_view bytes) {
  FastChecksum sum;
  sum.add(bytes_of(bytes));
  return sum.value();
}

std::string sealed_index(std::string bytes) {
  if (bytes.size() < kIndexHeader) return bytes;
  std::string without = bytes;
  without.erase(kIndexHeader - 8, 8);
  put_number(bytes, kIndexHeader - 8, checksum_of(without));
  return bytes;
}

std::string sealed_shard(std::string bytes) {
  for (std::size_t at = 0; at + kShardAlignment <= bytes.size(); ++at) {
    const bool is_clip = std::memcmp(bytes.data() + at, ClipHeader{}.magic.data(), 8) == 0;
    if (at != 0 && !is_clip) continue;
    ClipHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const std::uint64_t payload = bytes.size() - at - sizeof header;
    if (is_clip && header.samples < payload && header.codes < payload &&
        header.payload_bytes() <= payload) {
      const auto content = std::string_view(bytes).substr(
          at + sizeof header, static_cast<std::size_t>(header.payload_bytes()));
      put_number(bytes, at + offsetof(ClipHeader, payload_checksum), checksum_of(content));
    }
    put_number(bytes, at + kShardAlignment - 8,
               checksum_of(std::string_view(bytes).substr(at, kShardAlignment - 8)));
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const std::filesystem::path kShard = fuzz::folder() / "shard-00000.features";
  static const std::filesystem::path kIndex = fuzz::folder() / "shard-00000.index";
  const std::string input(fuzz::text_of(data + 1, size - 1));
  const std::size_t index_bytes = std::min<std::size_t>(data[0], input.size());
  fuzz::put_file(kIndex, sealed_index(input.substr(0, index_bytes)));
  fuzz::put_file(kShard, sealed_shard(input.substr(index_bytes)));
  return fuzz::parse([&] {
    const auto shard = Shard::open(kShard, kKey);
    if (!shard) return;
    volatile int sum = 0;
    for (const ClipPlace place : shard->new_clips()) {
      const auto clip = shard->read(place);
      if (!clip) continue;
      for (const std::int16_t sample : clip->samples) sum = sum + sample;
      for (const std::uint16_t code : clip->codes) sum = sum + code;
    }
  });
}
