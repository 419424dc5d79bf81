// SPDX-License-Identifier: Apache-2.0
#include "data/cache/shard_format.h"

#include <system_error>

#include "base/checksum.h"
#include "base/error.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

// Far above any clip that can be decoded; keeps sums of counts from overflowing.
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 32;

template <typename Header>
std::uint64_t checksum_of(const Header& header) {
  FastChecksum sum;
  sum.add(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, checksum)));
  return sum.value();
}

}  // namespace

ShardHeader make_shard_header(FeatureKey key, std::uint64_t capacity) {
  ShardHeader header{.key = key.value, .capacity = capacity};
  header.checksum = checksum_of(header);
  return header;
}

ClipHeader make_clip_header(std::uint64_t identity, std::span<const std::int16_t> samples,
                            std::span<const std::uint16_t> codes) {
  FastChecksum payload;
  payload.add(std::as_bytes(samples));
  payload.add(std::as_bytes(codes));
  ClipHeader header{.identity = identity,
                    .samples = samples.size(),
                    .codes = codes.size(),
                    .payload_checksum = payload.value()};
  header.checksum = checksum_of(header);
  return header;
}

bool is_intact(const ShardHeader& header) {
  return header.magic == ShardHeader{}.magic && header.version == kShardVersion &&
         header.checksum == checksum_of(header);
}

bool is_intact(const ClipHeader& header) {
  return header.magic == ClipHeader{}.magic && header.samples < kMostValues &&
         header.codes < kMostValues && header.checksum == checksum_of(header);
}

bool is_intact(const ClipHeader& header, std::span<const std::byte> payload) {
  FastChecksum sum;
  sum.add(payload);
  return payload.size() == header.payload_bytes() && sum.value() == header.payload_checksum;
}

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

std::string sentence_of_room(const std::filesystem::path& folder, std::uint64_t needed,
                             std::uint64_t available) {
  return fmt::format(
      "The feature cache in {} will take {}; {} are free{}.", folder.string(), human_size(needed),
      human_size(available),
      needed <= available ? "" : ": what does not fit is computed again every epoch");
}

std::uint64_t free_room(const std::filesystem::path& folder) {
  std::error_code error;
  const auto space = std::filesystem::space(existing_part(folder), error);
  if (error) {
    throw DataError(fmt::format("The disk of {} cannot be asked for its free space: {}.",
                                folder.string(), error.message()));
  }
  return space.available;
}

}  // namespace myxtts
