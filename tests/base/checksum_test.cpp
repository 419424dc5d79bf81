// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace myxtts::checksum_test {
namespace {

std::uint64_t fast(std::string_view text) {
  FastChecksum sum;
  sum.add(bytes_of(text));
  return sum.value();
}

// 1000 bytes that do not repeat at any power of two; the sum was made with Python's zlib.
std::string pattern() {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>((i * 7 + i / 251) % 256);
  return bytes;
}

TEST(FastChecksum, GivesThePublishedSums) {
  EXPECT_EQ(fast(""), 0xef46db3751d8e999);
  EXPECT_EQ(fast("a"), 0xd24ec4f1a98c6e5b);
  EXPECT_EQ(fast("as"), 0x1c330fb2d66be179);
  EXPECT_EQ(fast("asd"), 0x631c37ce72a97393);
  EXPECT_EQ(fast("asdf"), 0x415872f599cea71e);
  EXPECT_EQ(fast("Call me Ishmael. Some years ago--never mind how long precisely-"),
            0x02a2e85470d6fd96);
}

TEST(Crc32, GivesThePublishedSums) {
  EXPECT_EQ(crc32(bytes_of("")), 0u);
  EXPECT_EQ(crc32(bytes_of("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32(bytes_of("The quick brown fox jumps over the lazy dog")), 0x414fa339u);
  EXPECT_EQ(crc32(bytes_of(pattern())), 0x5a2e0a71u);
}

TEST(Checksums, DoNotDependOnWhereTheStreamIsCut) {
  const std::string bytes = pattern();
  const std::string_view all = bytes;
  for (std::size_t step = 1; step <= 130; ++step) {
    FastChecksum quick;
    std::uint32_t crc = 0;
    for (std::size_t at = 0; at < all.size(); at += step) {
      const auto piece = bytes_of(all.substr(at, step));
      quick.add(piece);
      crc = crc32(piece, crc);
    }
    ASSERT_EQ(quick.value(), fast(all)) << step;
    ASSERT_EQ(crc, 0x5a2e0a71u) << step;
  }
}

TEST(Checksums, ChangeWithEveryBit) {
  const std::string right = pattern();
  for (std::size_t bit = 0; bit < right.size() * 8; bit += 61) {
    std::string wrong = right;
    wrong[bit / 8] = static_cast<char>(wrong[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NE(fast(wrong), fast(right)) << bit;
    ASSERT_NE(crc32(bytes_of(wrong)), crc32(bytes_of(right))) << bit;
  }
}

TEST(FastChecksum, DependsOnItsSeed) {
  EXPECT_NE(FastChecksum(1).value(), FastChecksum(0).value());
}

}  // namespace
}  // namespace myxtts::checksum_test
