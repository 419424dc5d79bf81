// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace myxtts {

// The bytes of a text, for the functions here and in atomic_file.h.
inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// XXH64, for large files of our own where only accidents are feared. Feed it piece by piece; where
// the pieces are cut does not matter. value() may be asked at any time.
class FastChecksum {
 public:
  explicit FastChecksum(std::uint64_t seed = 0);
  void add(std::span<const std::byte> data);
  std::uint64_t value() const;

 private:
  void add_stripe(const std::byte* stripe);  // 32 bytes

  std::uint64_t seed_;
  std::array<std::uint64_t, 4> lanes_;
  std::array<std::byte, 32> pending_{};  // what does not fill a stripe yet
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;  // bytes so far
};

// CRC-32 as in zip, gzip and PNG. To go on where an earlier piece ended, give its result as
// `before`.
std::uint32_t crc32(std::span<const std::byte> data, std::uint32_t before = 0);

}  // namespace myxtts
