// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace myxtts {
namespace {

template <typename Word>
Word load_little(const std::byte* from) {
  Word word = 0;
  std::memcpy(&word, from, sizeof(Word));
  static_assert(std::endian::native == std::endian::little, "a big-endian machine must swap here");
  return word;
}

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5;

constexpr std::uint64_t mixed_lane(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

// kCrcTables[k][b] is what byte b contributes when k more bytes follow it in the same step.
constexpr auto kCrcTables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320 : 0);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xFF];
    }
  }
  return tables;
}();

}  // namespace

FastChecksum::FastChecksum(std::uint64_t seed)
    : seed_(seed), lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1} {}

void FastChecksum::add(std::span<const std::byte> data) {
  total_ += data.size();
  if (pending_size_ > 0) {
    const std::size_t taken = std::min(pending_.size() - pending_size_, data.size());
    std::copy_n(data.begin(), taken, pending_.begin() + static_cast<std::ptrdiff_t>(pending_size_));
    pending_size_ += taken;
    data = data.subspan(taken);
    if (pending_size_ < pending_.size()) return;
    add_stripe(pending_.data());
    pending_size_ = 0;
  }
  while (data.size() >= pending_.size()) {
    add_stripe(data.data());
    data = data.subspan(pending_.size());
  }
  std::copy(data.begin(), data.end(), pending_.begin());
  pending_size_ = data.size();
}

void FastChecksum::add_stripe(const std::byte* stripe) {
  for (std::size_t i = 0; i < 4; ++i) {
    lanes_[i] = mixed_lane(lanes_[i], load_little<std::uint64_t>(stripe + 8 * i));
  }
}

std::uint64_t FastChecksum::value() const {
  std::uint64_t hash = seed_ + kPrime5;
  if (total_ >= 32) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) {
      hash = (hash ^ mixed_lane(0, lane)) * kPrime1 + kPrime4;
    }
  }
  hash += total_;

  const std::byte* next = pending_.data();
  const std::byte* const end = next + pending_size_;
  for (; end - next >= 8; next += 8) {
    hash ^= mixed_lane(0, load_little<std::uint64_t>(next));
    hash = std::rotl(hash, 27) * kPrime1 + kPrime4;
  }
  if (end - next >= 4) {
    hash ^= load_little<std::uint32_t>(next) * kPrime1;
    hash = std::rotl(hash, 23) * kPrime2 + kPrime3;
    next += 4;
  }
  for (; next != end; ++next) {
    hash ^= std::to_integer<std::uint64_t>(*next) * kPrime5;
    hash = std::rotl(hash, 11) * kPrime1;
  }
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

std::uint32_t crc32(std::span<const std::byte> data, std::uint32_t before) {
  const auto& tables = kCrcTables;
  std::uint32_t crc = ~before;
  for (; data.size() >= 8; data = data.subspan(8)) {  // eight bytes in one step
    const std::uint64_t word = load_little<std::uint64_t>(data.data()) ^ crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= tables[7 - i][(word >> (8 * i)) & 0xFF];
  }
  for (const std::byte byte : data) {
    crc = (crc >> 8) ^ tables[0][(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xFF];
  }
  return ~crc;
}

}  // namespace myxtts
