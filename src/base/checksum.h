// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace myxtts {

// The bytes of a text, for the functions here and in atomic_file.h.
inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// SHA-256 (FIPS 180-4), for files that come from elsewhere. Feed it piece by piece;
// where the pieces are cut does not matter. hex() ends the stream.
class Sha256 {
 public:
  void add(std::span<const std::byte> data);

  // 64 lower-case digits. Call it once, last.
  std::string hex();

 private:
  void add_block(const std::byte* block);  // 64 bytes

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;  // bytes so far
};

// XXH64, for large files of our own where only accidents are feared. Feed it
// piece by piece, as Sha256. value() may be asked at any time.
class FastChecksum {
 public:
  explicit FastChecksum(std::uint64_t seed = 0);
  void add(std::span<const std::byte> data);
  std::uint64_t value() const;

 private:
  void add_stripe(const std::byte* stripe);  // 32 bytes

  std::uint64_t seed_;
  std::array<std::uint64_t, 4> lanes_;
  std::array<std::byte, 32> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;  // bytes so far
};

// CRC-32 as in zip, gzip and PNG. To go on where an earlier piece ended, give its result as
// `before`.
std::uint32_t crc32(std::span<const std::byte> data, std::uint32_t before = 0);

}  // namespace myxtts
