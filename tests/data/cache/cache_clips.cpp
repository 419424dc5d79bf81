// SPDX-License-Identifier: Apache-2.0
#include "data/cache/cache_clips.h"

#include <algorithm>
#include <fstream>
#include <random>

namespace myxtts::test {

CachedContent content_of(std::uint64_t identity, std::size_t most_samples) {
  std::mt19937_64 random(identity);
  CachedContent clip;
  clip.samples.resize(random() % most_samples);
  clip.codes.resize(random() % 40);
  for (auto& sample : clip.samples) sample = static_cast<std::int16_t>(random());
  for (auto& code : clip.codes) code = static_cast<std::uint16_t>(random() % 1024);
  return clip;
}

bool add_made(FeatureCache& cache, std::uint64_t identity, std::size_t most_samples) {
  const auto clip = content_of(identity, most_samples);
  return cache.add(identity, clip.samples, clip.codes);
}

bool holds_made(const FeatureCache& cache, std::uint64_t identity, std::size_t most_samples) {
  const auto found = cache.find(identity);
  if (!found) return false;
  const auto clip = content_of(identity, most_samples);
  return std::ranges::equal(found->samples, clip.samples) &&
         std::ranges::equal(found->codes, clip.codes);
}

std::vector<std::filesystem::path> shards_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> shards;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() == ".features") shards.push_back(file.path());
  }
  std::ranges::sort(shards);
  return shards;
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace myxtts::test
