// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace myxtts::test {

// Reads a zlib stream of blocks with fixed codes (RFC 1950, 1951), written apart from what makes
// them. Throws on anything else, and where the checksum is wrong.
class Inflate {
 public:
  explicit Inflate(std::string_view stream) : stream_(stream) {}

  std::string all() {
    place_ = 2;
    bool last = false;
    while (!last) {
      last = bits(1) == 1;
      if (bits(2) != 1) throw std::runtime_error("not a block of fixed codes");
      while (block_symbol()) {
      }
    }
    if (bit_ > 0) ++place_;
    check();
    return out_;
  }

 private:
  std::uint32_t bits(int count) {
    std::uint32_t value = 0;
    for (int at = 0; at < count; ++at) {
      value |= static_cast<std::uint32_t>(
          (static_cast<unsigned char>(stream_.at(place_)) >> bit_ & 1) << at);
      if (++bit_ == 8) bit_ = 0, ++place_;
    }
    return value;
  }

  // Codes of 7 bits are 0 to 23, those of 8 are 48 to 199, those of 9 are 400 to 511.
  std::uint32_t symbol() {
    std::uint32_t code = 0;
    for (int at = 0; at < 7; ++at) code = code << 1 | bits(1);
    if (code < 24) return 256 + code;
    code = code << 1 | bits(1);
    if (code >= 48 && code < 192) return code - 48;
    if (code >= 192 && code < 200) return 280 + code - 192;
    code = code << 1 | bits(1);
    return 144 + code - 400;
  }

  bool block_symbol() {
    static constexpr std::array<int, 29> kLength = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                                    15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                                    67, 83, 99, 115, 131, 163, 195, 227, 258};
    static constexpr std::array<int, 29> kExtra = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                   2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    const std::uint32_t found = symbol();
    if (found == 256) return false;
    if (found < 256) {
      out_.push_back(static_cast<char>(found));
      return true;
    }
    const std::size_t length =
        static_cast<std::size_t>(kLength.at(found - 257)) + bits(kExtra.at(found - 257));
    if (bits(5) != 0) throw std::runtime_error("a distance other than 1");
    out_.append(length, out_.back());
    return true;
  }

  void check() const {
    std::uint32_t low = 1;
    std::uint32_t high = 0;
    for (const char byte : out_) {
      low = (low + static_cast<unsigned char>(byte)) % 65521;
      high = (high + low) % 65521;
    }
    std::uint32_t kept = 0;
    for (std::size_t at = 0; at < 4; ++at) {
      kept = kept << 8 | static_cast<unsigned char>(stream_.at(place_ + at));
    }
    if (kept != (high << 16 | low)) throw std::runtime_error("the checksum is wrong");
  }

  std::string_view stream_;
  std::size_t place_ = 0;
  int bit_ = 0;
  std::string out_;
};

inline std::string inflate(std::string_view stream) {
  return Inflate(stream).all();
}

}  // namespace myxtts::test
