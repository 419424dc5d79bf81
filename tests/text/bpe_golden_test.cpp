// SPDX-License-Identifier: Apache-2.0
// Token ids of random strings against digests of the `tokenizers` library's, made by
// tests/golden/make_vocabulary.py.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/crc32.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace myxtts::bpe_golden_test {
namespace {

constexpr std::size_t kBlock = 100;

// SplitMix64, as in make_vocabulary.py.
class Numbers {
 public:
  std::uint64_t below(std::uint64_t limit) {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return (z ^ (z >> 31U)) % limit;
  }

 private:
  std::uint64_t state_ = 20240607;
};

// The same strings as make_vocabulary.py's random_string().
std::string random_string(Numbers& numbers, const Vocabulary& vocabulary) {
  struct Range {
    std::uint32_t low, high;
  };
  static constexpr std::array<Range, 4> kRanges{
      {{0x20, 0x7F}, {0xA0, 0x700}, {0x900, 0x11000}, {0, 0x110000}}};
  static const std::array<std::string, 6> blanks{" ",  "[SPACE]", "\u00a0",
                                                 "\n", "\u3000",  "\u200b"};
  std::string text;
  for (std::uint64_t count = numbers.below(30); count > 0; --count) {
    const std::uint64_t kind = numbers.below(10);
    if (kind < 6) {
      const auto rows = static_cast<std::uint64_t>(vocabulary.rows());
      text += vocabulary.token(static_cast<TokenId>(numbers.below(rows)));
    } else if (kind == 6) {
      text += blanks[numbers.below(blanks.size())];
    } else {
      const Range range = kRanges[numbers.below(kRanges.size())];
      const auto letter = static_cast<char32_t>(range.low + numbers.below(range.high - range.low));
      append_code_point(text, letter >= 0xD800 && letter < 0xE000 ? U'\uFFFD' : letter);
    }
  }
  return text;
}

TEST(Tokenizer, RandomStringsGetTheIdsOfTheLibrary) {
  const std::string folder = std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/";
  const Vocabulary vocabulary = Vocabulary::load(folder + "vocab.json");
  const Tokenizer tokenizer(vocabulary);
  Numbers numbers;
  std::ifstream file(folder + "bpe.txt");
  std::size_t blocks = 0;
  for (std::string expected; std::getline(file, expected); ++blocks) {
    test::Crc32 crc;
    for (std::size_t count = 0; count < kBlock; ++count) {
      const auto ids = tokenizer.encode(random_string(numbers, vocabulary));
      crc.add(fmt::format("{}\n", fmt::join(ids, " ")));
    }
    EXPECT_EQ(fmt::format("{:08x}", crc.value()), expected) << "block " << blocks;
  }
  EXPECT_EQ(blocks * kBlock, 24'000U);
}

}  // namespace
}  // namespace myxtts::bpe_golden_test
