// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/cache/feature_cache.h"
#include "data/cache/shard_format.h"

namespace myxtts {

// One file of a FeatureCache: mapped as far as it may ever grow, so that what was appended can be
// read at once and views stay where they are. What was once a whole clip is never cut off again.
//
// read() may be called by any thread; the rest by one at a time.
class Shard {
 public:
  // An empty one that is locked for writing. Throws DataError, as append().
  static std::unique_ptr<Shard> create(const std::filesystem::path& path, FeatureKey key,
                                       std::uint64_t capacity);

  // Nothing, and a line in the log, for a file that is no shard of this key.
  static std::unique_ptr<Shard> open(const std::filesystem::path& path, FeatureKey key);

  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  ~Shard();  // gives the lock back

  // The clips behind those that were found so far; the first call takes them from the index as far
  // as that goes. A damaged header costs its own clip and is logged.
  std::vector<ClipPlace> new_clips();

  // The clip whose header stands at `offset`; nothing when a bit of it differs from what was
  // written.
  std::optional<CachedClip> read(ClipPlace place) const;

  // Makes this process the only one that appends; false when another one is that already, or the
  // file may not be written. Call new_clips() afterwards, then cut_torn_tail().
  bool lock();
  void unlock();

  // Removes what a killed writer left behind the last whole clip; gives the bytes removed.
  std::uint64_t cut_torn_tail();

  bool has_room_for(std::uint64_t bytes) const { return shard_aligned(end_) + bytes <= capacity_; }

  // Throws DataError, with the file as it was before, when the disk does not take the clip.
  ClipPlace append(std::uint64_t identity, std::span<const std::int16_t> samples,
                   std::span<const std::uint16_t> codes);

  // Saves the next reader the way from header to header. `places` are all of this shard.
  void write_index(std::span<const ClipPlace> places) const;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t end() const { return end_; }  // of the last whole clip

 private:
  Shard(std::filesystem::path path, FeatureKey key, int file);
  bool map();  // false, with errno, when there is no room for it
  std::optional<ClipHeader> header_at(std::uint64_t offset, std::uint64_t size) const;
  std::optional<std::uint64_t> next_header(std::uint64_t after, std::uint64_t size) const;
  std::uint64_t file_size() const;  // as far as it is mapped

  const std::filesystem::path path_;
  const FeatureKey key_;
  const int file_;
  bool writable_ = true;
  std::uint64_t capacity_ = 0;
  const std::byte* start_ = nullptr;
  std::uint64_t end_ = 0;
  bool index_was_read_ = false;
};

}  // namespace myxtts
