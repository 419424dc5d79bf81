// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace myxtts::test {

// The CRC-32 of zlib, for digests that Python scripts wrote.
class Crc32 {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      state_ ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) {
        state_ = (state_ >> 1U) ^ ((state_ & 1U) != 0 ? 0xEDB88320U : 0U);
      }
    }
  }
  [[nodiscard]] std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = ~0U;
};

}  // namespace myxtts::test
