// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "data/cache/shard_format.h"

namespace myxtts {

// Where a clip stands in a cache of many shards. A million of them must stay small.
struct ClipEntry {
  ClipEntry(std::size_t number, ClipPlace place)
      : identity(place.identity),
        shard(static_cast<std::uint32_t>(number)),
        unit(static_cast<std::uint32_t>(place.offset / kShardAlignment)) {}

  std::uint64_t offset() const { return kShardAlignment * unit; }

  std::uint64_t identity;
  std::uint32_t shard;
  std::uint32_t unit;  // offset in units of the alignment: shards of up to 256 GB
};
static_assert(sizeof(ClipEntry) == 16);

// Finds clips by identity. The same identity may stand in several places: two processes wrote it,
// or the first copy was damaged. One thread at a time, except that any may look.
class ClipTable {
 public:
  void add(const ClipEntry& entry);                   // seen at once
  void add_many(std::span<const ClipEntry> entries);  // sorts: for many at a time

  // All places of a clip: those of earlier shards first, additions last.
  std::vector<ClipEntry> places(std::uint64_t identity) const;
  bool contains(std::uint64_t identity) const;

  // All clips of one shard, in the order of the file.
  std::vector<ClipEntry> of_shard(std::size_t shard) const;

  std::size_t size() const;  // different identities

 private:
  std::vector<ClipEntry> sorted_;
  std::unordered_multimap<std::uint64_t, ClipEntry> added_;  // since sorted_ was sorted
  std::size_t identities_ = 0;
};

}  // namespace myxtts
