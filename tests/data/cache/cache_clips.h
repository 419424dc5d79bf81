// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/cache/feature_cache.h"

namespace myxtts::test {

// What a clip would hold, as a function of its identity alone: lengths differ, 0 included.
struct CachedContent {
  std::vector<std::int16_t> samples;
  std::vector<std::uint16_t> codes;
};
CachedContent content_of(std::uint64_t identity, std::size_t most_samples = 3000);

bool add_made(FeatureCache& cache, std::uint64_t identity, std::size_t most_samples = 3000);

// Whether the cache gives exactly content_of(identity).
bool holds_made(const FeatureCache& cache, std::uint64_t identity, std::size_t most_samples = 3000);

// The shards of the key below `folder`, in the order of their names.
std::vector<std::filesystem::path> shards_in(const std::filesystem::path& folder);

void write_file(const std::filesystem::path& path, const std::string& bytes);

}  // namespace myxtts::test
