// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace myxtts::checksum_test {
namespace {

std::string sha256(std::string_view text) {
  Sha256 sum;
  sum.add(bytes_of(text));
  return sum.hex();
}

std::uint64_t fast(std::string_view text) {
  FastChecksum sum;
  sum.add(bytes_of(text));
  return sum.value();
}

// 1000 bytes that do not repeat at any power of two; sums of them were made with Python's hashlib
// and zlib.
std::string pattern() {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += static_cast<char>((i * 7 + i / 251) % 256);
  return bytes;
}

TEST(Sha256, GivesThePublishedSums) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PadsEveryLengthAroundTheEndOfABlock) {
  const std::map<std::size_t, std::string> known{
      {55, "576a1bf8d4478657e6dc4af9398544765c2a92cde28478b019235cfed315fc09"},
      {56, "9b20501dfd1d99161c257950f3444f3e49230c351c5c8e0943ef369f85f5205d"},
      {63, "30b345906b493f06f69444b6521113511c242f30e29840462950035043682f1e"},
      {64, "d8bc63b4fc1156e5e7d95a418b9bf54cd3174bedbc2db40f74895349b229b3c0"},
      {65, "1ee23b0fbcaecc1aff4a9e8f1645f35ab2c8e13609cd73b68df8b5e3f63ce073"},
      {119, "7a6589821178918ca8d9edaba5abfc1e9b2669564f4469b66885379c1530b2c8"},
      {120, "655250427d56b1b0eeb8497d21428704273458a01772d6881b65c0abac0f8a98"},
      {1000, "1d9d471927b6f0cbc77aed8969dfc6ef43ff35fdcdd8aa0032630c0063ff95a5"}};
  for (const auto& [size, sum] : known) EXPECT_EQ(sha256(pattern().substr(0, size)), sum) << size;
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
    Sha256 sha;
    FastChecksum quick;
    std::uint32_t crc = 0;
    for (std::size_t at = 0; at < all.size(); at += step) {
      const auto piece = bytes_of(all.substr(at, step));
      sha.add(piece);
      quick.add(piece);
      crc = crc32(piece, crc);
    }
    ASSERT_EQ(sha.hex(), sha256(all)) << step;
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
