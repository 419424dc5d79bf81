// SPDX-License-Identifier: Apache-2.0
// Random byte strings through cleaning, tokens and splitting, in every language of a vocabulary.
// MYXTTS_FUZZ_RUNS sets their number; the default takes a few seconds under a sanitizer.
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "text/sentences.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace myxtts::encode_fuzz_test {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) {
  return random() % limit;
}

char32_t random_letter(Random& random) {
  struct Range {
    char32_t low, size;
  };
  static const std::vector<Range> ranges{{0x20, 0x60},     {0xA0, 0x200},     {0x400, 0x300},
                                         {0x900, 0x80},    {0x2000, 0x100},   {0x3000, 0x100},
                                         {0x4E00, 0x51FF}, {0xAC00, 0x2BA4},  {0xFF00, 0xF0},
                                         {0, 0xD800},      {0xE000, 0x101FFF}};
  const Range range = ranges[below(random, ranges.size())];
  return range.low + static_cast<char32_t>(below(random, range.size));
}

// Bytes, letters of one or many scripts, tokens of the vocabulary, and what the rules look for.
std::string random_text(Random& random, const Vocabulary& vocabulary) {
  static const std::vector<std::string> pieces{
      ". ",   "...",  "3.5",     "12", "2008年8月", "13712345678", "1/2", "50%",  "ー", "っ",
      "「",   "」",   "・",      "'s", "\"",        "Dr.",         "\n",  "\r\n", " ",  "\u00A0",
      "[en]", "[ja]", "[SPACE]", "[",  "]",         "元",          "万",  "$",    "€",  "°C."};
  std::string text;
  const std::size_t kind = below(random, 4);
  for (std::size_t count = below(random, below(random, 50) == 0 ? 400 : 30); count > 0; --count) {
    const std::size_t what = kind == 3 ? below(random, 3) : kind;
    if (what == 0) {
      text += static_cast<char>(random());
    } else if (what == 1) {
      append_code_point(text, random_letter(random));
    } else if (below(random, 2) == 0) {
      text += pieces[below(random, pieces.size())];
    } else {
      const auto rows = static_cast<std::size_t>(vocabulary.rows());
      text += vocabulary.token(static_cast<TokenId>(below(random, rows)));
    }
  }
  return text;
}

std::string without_blanks(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    at += static_cast<std::size_t>(U8_LENGTH(c));
    if (!is_space(c)) append_code_point(result, c);
  }
  return result;
}

TEST(Fuzz, NoTextBreaksTheEncoderOrTheSplitter) {
  const auto vocabulary =
      Vocabulary::load(std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/vocab.json");
  const char* wanted = std::getenv("MYXTTS_FUZZ_RUNS");
  const std::size_t runs = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 4000;
  std::vector<TextEncoder> encoders;
  const auto languages = all_languages().first(all_languages().size() - 1);  // all but Persian
  for (const Language language : languages) encoders.emplace_back(vocabulary, language);

  Random random(20240608);
  for (std::size_t run = 0; run < runs; ++run) {
    const std::size_t which = below(random, languages.size());
    const std::string text = random_text(random, vocabulary);
    const EncodedText encoded = encoders[which].encode(text);
    ASSERT_FALSE(first_invalid_utf8(encoded.clean)) << language_code(languages[which]);
    ASSERT_EQ(encoded.ids.at(0), vocabulary.find(language_tag(languages[which])));
    for (const TokenId id : encoded.ids) ASSERT_FALSE(vocabulary.token(id).empty());

    const std::string valid = repair_utf8(text);
    const auto pieces = split_text(valid, languages[which]);
    const std::string joined = std::accumulate(pieces.begin(), pieces.end(), std::string());
    ASSERT_EQ(without_blanks(joined), without_blanks(valid)) << language_code(languages[which]);
  }
}

}  // namespace
}  // namespace myxtts::encode_fuzz_test
