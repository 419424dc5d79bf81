// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "data/cache/feature_key.h"

namespace myxtts {

// What is the same in every epoch, of one clip. The views are good as long as the cache.
struct CachedClip {
  std::span<const std::int16_t> samples;  // mono at 22,050 Hz
  std::span<const std::uint16_t> codes;   // of the frozen DVAE
};

struct FeatureCacheOptions {
  std::uint64_t shard_bytes = 1'000'000'000;  // a shard that is this long gets no further clip
};

// Codes and resampled sound on disk, so that later epochs and runs neither decode nor encode.
//
//   folder/features-<key>/shard-00000.features   clips one after another; only ever appended to
//                         shard-00000.index      where they are; made again when missing or old
//
// Shards are memory-mapped: find() copies nothing. Every clip has a checksum of its own, looked at
// whenever it is read: a damaged one is said and counts as missing. A writer that was killed leaves
// at most one torn clip at the end of its shard, which the next writer cuts off. A disk without
// room is said once; from then on nothing is added and everything else goes on.
//
// Any thread may call anything. Any number of processes may share a folder: each appends to a shard
// that it alone has locked. docs/reference/feature-cache.md has the format.
class FeatureCache {
 public:
  // Makes the folder where there is none. Throws DataError when it can be neither made nor read.
  FeatureCache(const std::filesystem::path& folder, FeatureKey key,
               const FeatureCacheOptions& options = {});
  FeatureCache(const FeatureCache&) = delete;
  FeatureCache& operator=(const FeatureCache&) = delete;
  ~FeatureCache();

  // The clip, or nothing when it is not there or damaged. `identity` is ClipView::identity.
  std::optional<CachedClip> find(std::uint64_t identity) const;

  // Whether find() would look at anything: no read of the clip, no check.
  bool contains(std::uint64_t identity) const;

  // Appends a clip that find() does not give; does nothing for one that it does. Never throws for
  // reasons of the disk. Gives whether the clip is in the cache now.
  bool add(std::uint64_t identity, std::span<const std::int16_t> samples,
           std::span<const std::uint16_t> codes);

  // Learns what other processes have added since. Call it between epochs.
  void refresh() const;

  std::size_t size() const;     // clips
  std::uint64_t bytes() const;  // of all shards of this key
  bool accepts_more() const;    // false once the disk was full or refused to be written
  const std::filesystem::path& folder() const;  // with the key

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace myxtts
