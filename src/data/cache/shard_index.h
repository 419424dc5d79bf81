// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "data/cache/shard.h"

namespace myxtts {

// Where the clips of a shard stand, up to `end` bytes of it.
struct ShardIndex {
  std::vector<ClipPlace> places;
  std::uint64_t end = 0;
};

std::filesystem::path index_path(const std::filesystem::path& shard);

// Throws DataError when the disk does not take it.
void write_shard_index(const std::filesystem::path& path, FeatureKey key,
                       std::span<const ClipPlace> places, std::uint64_t end);

// Nothing when there is none, when it is damaged or when it is of another key.
std::optional<ShardIndex> read_shard_index(const std::filesystem::path& path, FeatureKey key);

}  // namespace myxtts
