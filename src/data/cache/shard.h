// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/cache/feature_cache.h"
#include "data/cache/feature_key.h"

namespace myxtts {

// The bytes of a shard, as docs/reference/feature-cache.md describes them. Numbers are
// little-endian.

static_assert(std::endian::native == std::endian::little);

inline constexpr std::uint32_t kShardVersion = 1;
inline constexpr std::uint64_t kShardAlignment = 64;  // of every header

struct ShardHeader {
  std::array<char, 8> magic = {'M', 'Y', 'X', 'T', 'F', 'E', 'A', 'T'};
  std::uint32_t version = kShardVersion;
  std::uint32_t unused = 0;
  std::uint64_t key = 0;
  std::uint64_t capacity = 0;  // the file never grows beyond it
  std::array<std::uint64_t, 3> also_unused = {};
  std::uint64_t checksum = 0;  // of the bytes before it
};
static_assert(sizeof(ShardHeader) == kShardAlignment);

// Followed by the samples and, directly behind them, the codes. The next one stands at the next
// multiple of the alignment.
struct ClipHeader {
  std::array<char, 8> magic = {'M', 'Y', 'X', 'T', 'C', 'L', 'I', 'P'};
  std::uint64_t identity = 0;
  std::uint64_t samples = 0;
  std::uint64_t codes = 0;
  std::uint64_t payload_checksum = 0;
  std::array<std::uint64_t, 2> unused = {};
  std::uint64_t checksum = 0;  // of the bytes before it

  std::uint64_t payload_bytes() const { return 2 * (samples + codes); }
};
static_assert(sizeof(ClipHeader) == kShardAlignment);

// Where a clip's header stands in a shard.
struct ClipPlace {
  std::uint64_t identity = 0;
  std::uint64_t offset = 0;
};

ShardHeader make_shard_header(FeatureKey key, std::uint64_t capacity);
ClipHeader make_clip_header(std::uint64_t identity, std::span<const std::int16_t> samples,
                            std::span<const std::uint16_t> codes);

// Whether nothing in the header was changed, and its counts are such as clips have.
bool is_intact(const ShardHeader& header);
bool is_intact(const ClipHeader& header);

// Whether `payload` is what the clip was written with.
bool is_intact(const ClipHeader& header, std::span<const std::byte> payload);

inline std::uint64_t shard_aligned(std::uint64_t offset) {
  return (offset + kShardAlignment - 1) / kShardAlignment * kShardAlignment;
}

// What a clip takes up in a shard.
inline std::uint64_t clip_bytes(std::uint64_t samples, std::uint64_t codes) {
  return shard_aligned(sizeof(ClipHeader) + 2 * (samples + codes));
}

// What a clip of that many samples at 22,050 Hz takes up in a feature cache.
std::uint64_t cached_bytes(std::int64_t samples);

// Bytes free for this user on the disk of `folder`, which need not exist yet. Throws DataError when
// it cannot be asked.
std::uint64_t free_room(const std::filesystem::path& folder);

// "The feature cache in DIR will take 1.9 GB; 250 GB are free."
std::string sentence_of_room(const std::filesystem::path& folder, std::uint64_t needed,
                             std::uint64_t available);

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
