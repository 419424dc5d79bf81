// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace myxtts {

// What a clip of that many samples at 22,050 Hz takes up in a feature cache.
std::uint64_t cached_bytes(std::int64_t samples);

// What a cache will need, beside what its disk has.
struct CacheRoom {
  std::uint64_t needed = 0;     // bytes still to be written
  std::uint64_t available = 0;  // bytes free for this user

  bool suffices() const { return needed <= available; }

  // "The feature cache in DIR will take 1.9 GB; 250 GB are free."
  std::string sentence(const std::filesystem::path& folder) const;
};

// `folder` need not exist yet. Throws DataError when its disk cannot be asked.
CacheRoom cache_room(const std::filesystem::path& folder, std::uint64_t needed);

}  // namespace myxtts
