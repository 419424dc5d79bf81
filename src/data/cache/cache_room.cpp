// SPDX-License-Identifier: Apache-2.0
#include "data/cache/cache_room.h"

#include <system_error>

#include "base/error.h"
#include "base/human.h"
#include "data/cache/shard_format.h"

namespace myxtts {
namespace {

constexpr std::uint64_t kSamplesPerCode = 1024;

// The nearest folder above that exists: the one that the missing ones will be made in.
std::filesystem::path existing_part(const std::filesystem::path& folder) {
  std::error_code error;
  auto place = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(place, error) && place.has_relative_path()) {
    place = place.parent_path();
  }
  return place;
}

}  // namespace

std::uint64_t cached_bytes(std::int64_t samples) {
  const auto count = static_cast<std::uint64_t>(samples);
  return clip_bytes(count, (count + kSamplesPerCode - 1) / kSamplesPerCode);
}

std::string CacheRoom::sentence(const std::filesystem::path& folder) const {
  return fmt::format("The feature cache in {} will take {}; {} are free{}.", folder.string(),
                     human_size(needed), human_size(available),
                     suffices() ? "" : ": what does not fit is computed again every epoch");
}

CacheRoom cache_room(const std::filesystem::path& folder, std::uint64_t needed) {
  std::error_code error;
  const auto space = std::filesystem::space(existing_part(folder), error);
  if (error) {
    throw DataError(fmt::format("The disk of {} cannot be asked for its free space: {}.",
                                folder.string(), error.message()));
  }
  return {.needed = needed, .available = space.available};
}

}  // namespace myxtts
