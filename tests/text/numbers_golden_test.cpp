// SPDX-License-Identifier: Apache-2.0
// Number words against digests of the peer's, made by tests/golden/make_text.py.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "text/numbers/numbers.h"

namespace myxtts::numbers_golden_test {
namespace {

constexpr std::uint64_t kBlock = 1000;

class Crc32 {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      state_ ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit)
        state_ = (state_ >> 1) ^ ((state_ & 1U) != 0 ? 0xEDB88320U : 0U);
    }
  }
  [[nodiscard]] std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = ~0U;
};

struct Block {
  std::string language, kind;
  std::uint64_t start = 0;
  std::uint32_t digest = 0;
  std::vector<bool> silent = std::vector<bool>(kBlock, false);
};

void read_ranges(const std::string& text, std::vector<bool>& flags) {
  if (text == "-") return;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const std::size_t first = std::stoul(part);
    const std::size_t last = dash == std::string::npos ? first : std::stoul(part.substr(dash + 1));
    for (std::size_t offset = first; offset <= last; ++offset) flags[offset] = true;
  }
}

std::vector<Block> read_blocks() {
  std::ifstream file(std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/numbers.txt");
  std::vector<Block> blocks;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    Block block;
    std::string silent;
    fields >> block.language >> block.kind >> block.start >> std::hex >> block.digest >> silent;
    read_ranges(silent, block.silent);
    blocks.push_back(block);
  }
  return blocks;
}

std::uint32_t our_digest(const Block& block) {
  const NumberWords& words = number_words(parse_language(block.language));
  Crc32 crc;
  for (std::uint64_t offset = 0; offset < kBlock; ++offset) {
    if (block.silent[offset]) continue;
    crc.add(block.kind == "ordinal" ? words.ordinal(block.start + offset)
                                    : words.cardinal(block.start + offset));
    crc.add("\n");
  }
  return crc.value();
}

// Under a sanitizer every tenth block.
std::size_t stride() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 10;
#else
  return 1;
#endif
}

TEST(NumberWords, CardinalsAndOrdinalsEqualThePeersInEveryLanguage) {
  const std::vector<Block> blocks = read_blocks();
  ASSERT_EQ(blocks.size(), 14U * 100 + 13U * 10);  // the peer has no Czech ordinals
  for (std::size_t index = 0; index < blocks.size(); index += stride()) {
    const Block& block = blocks[index];
    EXPECT_EQ(our_digest(block), block.digest) << block.language << " " << block.kind << "s from "
                                               << block.start << " to " << block.start + kBlock - 1;
  }
}

TEST(NumberWords, EveryNumberUpToTheLargestHasWords) {
  for (const Language language : all_languages()) {
    if (language == Language::Zh || language == Language::Ja || language == Language::Fa) continue;
    const NumberWords& words = number_words(language);
    for (std::uint64_t number = 1; number < kLargestSpelled; number = number * 7 + 3) {
      EXPECT_FALSE(words.cardinal(number).empty()) << language_code(language) << " " << number;
      EXPECT_FALSE(words.ordinal(number).empty()) << language_code(language) << " " << number;
    }
    EXPECT_FALSE(words.cardinal(kLargestSpelled - 1).empty()) << language_code(language);
  }
}

}  // namespace
}  // namespace myxtts::numbers_golden_test
