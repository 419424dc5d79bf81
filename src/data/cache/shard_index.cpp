// SPDX-License-Identifier: Apache-2.0
#include "data/cache/shard_index.h"

#include <array>
#include <cstring>
#include <fstream>
#include <string>

#include "base/atomic_file.h"
#include "base/checksum.h"

namespace myxtts {
namespace {

struct IndexHeader {
  std::array<char, 8> magic = {'M', 'Y', 'X', 'T', 'F', 'I', 'D', 'X'};
  std::uint64_t version = 1;
  std::uint64_t key = 0;
  std::uint64_t end = 0;
  std::uint64_t count = 0;
  std::uint64_t checksum = 0;  // of the members before it and of all places
};
static_assert(sizeof(IndexHeader) == 48);
static_assert(sizeof(ClipPlace) == 16);

std::uint64_t checksum_of(const IndexHeader& header, std::span<const ClipPlace> places) {
  FastChecksum sum;
  sum.add(std::as_bytes(std::span(&header, 1)).first(offsetof(IndexHeader, checksum)));
  sum.add(std::as_bytes(places));
  return sum.value();
}

}  // namespace

std::filesystem::path index_path(const std::filesystem::path& shard) {
  auto path = shard;
  return path.replace_extension(".index");
}

void write_shard_index(const std::filesystem::path& path, FeatureKey key,
                       std::span<const ClipPlace> places, std::uint64_t end) {
  IndexHeader header{.key = key.value, .end = end, .count = places.size()};
  header.checksum = checksum_of(header, places);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(&header, 1)));
  file.write(std::as_bytes(places));
  file.commit();
}

std::optional<ShardIndex> read_shard_index(const std::filesystem::path& path, FeatureKey key) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(file.tellg());
  file.seekg(0);
  IndexHeader header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header))) return std::nullopt;
  if (header.magic != IndexHeader{}.magic || header.version != 1 || header.key != key.value ||
      header.count != (size - sizeof(header)) / sizeof(ClipPlace)) {
    return std::nullopt;
  }
  ShardIndex index{.places = std::vector<ClipPlace>(header.count), .end = header.end};
  const auto bytes = static_cast<std::streamsize>(header.count * sizeof(ClipPlace));
  if (!file.read(reinterpret_cast<char*>(index.places.data()), bytes) ||
      header.checksum != checksum_of(header, index.places)) {
    return std::nullopt;
  }
  return index;
}

}  // namespace myxtts
