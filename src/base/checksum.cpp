// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace myxtts {
namespace {

template <typename Word>
Word load_little(const std::byte* from) {
  Word word = 0;
  std::memcpy(&word, from, sizeof(Word));
  static_assert(std::endian::native == std::endian::little, "a big-endian machine must swap here");
  return word;
}

std::uint32_t load_big(const std::byte* from) {
  return __builtin_bswap32(load_little<std::uint32_t>(from));
}

// Cuts a stream into blocks of a fixed size: `pending` keeps what does not fill one yet.
template <std::size_t kBlock, typename AddBlock>
void cut_into_blocks(std::span<const std::byte> data, std::array<std::byte, kBlock>& pending,
                     std::size_t& pending_size, AddBlock add_block) {
  if (pending_size > 0) {
    const std::size_t taken = std::min(kBlock - pending_size, data.size());
    std::copy_n(data.begin(), taken, pending.begin() + static_cast<std::ptrdiff_t>(pending_size));
    pending_size += taken;
    data = data.subspan(taken);
    if (pending_size < kBlock) return;
    add_block(pending.data());
    pending_size = 0;
  }
  while (data.size() >= kBlock) {
    add_block(data.data());
    data = data.subspan(kBlock);
  }
  std::copy(data.begin(), data.end(), pending.begin());
  pending_size = data.size();
}

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRoundConstants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

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

void Sha256::add(std::span<const std::byte> data) {
  total_ += data.size();
  cut_into_blocks(data, pending_, pending_size_,
                  [this](const std::byte* block) { add_block(block); });
}

void Sha256::add_block(const std::byte* block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t) w[t] = load_big(block + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const auto s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const auto s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t t = 0; t < 64; ++t) {
    const auto sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const auto sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const auto chosen = (e & f) ^ (~e & g);
    const auto majority = (a & b) ^ (a & c) ^ (b & c);
    const auto first = h + sum1 + chosen + kRoundConstants[t] + w[t];
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + sum0 + majority;
  }
  const std::array<std::uint32_t, 8> worked{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += worked[i];
}

std::string Sha256::hex() {
  const std::uint64_t bits = total_ * 8;
  const std::array<std::byte, 64> padding{std::byte{0x80}};
  add(std::span(padding).first(1 + (119 - total_ % 64) % 64));
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < 8; ++i) {
    length[i] = static_cast<std::byte>((bits >> (56 - 8 * i)) & 0xFF);
  }
  add(length);
  std::string digits;
  for (const std::uint32_t word : state_) digits += fmt::format("{:08x}", word);
  return digits;
}

FastChecksum::FastChecksum(std::uint64_t seed)
    : seed_(seed), lanes_{seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1} {}

void FastChecksum::add(std::span<const std::byte> data) {
  total_ += data.size();
  cut_into_blocks(data, pending_, pending_size_,
                  [this](const std::byte* stripe) { add_stripe(stripe); });
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
