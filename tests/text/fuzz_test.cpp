// SPDX-License-Identifier: Apache-2.0
// Random bytes and random Unicode through every language. MYXTTS_FUZZ_RUNS sets the number of texts
// of each kind; the default takes a few seconds under a sanitizer.
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/effort.h"
#include "text/cleaner.h"
#include "text/unicode.h"

namespace myxtts::fuzz_test {
namespace {

using Random = std::mt19937_64;

std::size_t runs() {
  const char* wanted = std::getenv("MYXTTS_FUZZ_RUNS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 6000;
}

std::size_t below(Random& random, std::size_t limit) {
  return random() % limit;
}

std::string random_bytes(Random& random) {
  std::string bytes(below(random, 60), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// Letters of every script, and often what the rules look for.
std::string random_unicode(Random& random) {
  static const std::vector<std::string> pieces{
      "0",   "1",      "7",      "12", "345", "007",    "999999999999999",
      ".",   ",",      "/",      ":",  "-",   "$",      "£",
      "€",   "%",      "°c",     "(",  "ص",   ")",      "ه.ش",
      "می ", " ها",    "\u200C", "م",  "ام",  "مین",    "º",
      "th",  "st",     "er",     ". ", "dr.", "г-н",    "번째",
      "वाँ",  "\u0654", "ﷺ",      "\n", " ",   "\u00A0", "\"",
      "İ",   "Σ",      "ſt.",    "…",  "..."};
  std::string text;
  for (std::size_t count = below(random, 20); count > 0; --count) {
    if (below(random, 3) != 0) {
      text += pieces[below(random, pieces.size())];
      continue;
    }
    auto c = static_cast<char32_t>(below(random, below(random, 2) != 0 ? 0x3000 : 0x110000));
    if (c >= 0xD800 && c < 0xE000) c = 0xFFFD;
    append_code_point(text, c);
  }
  return text;
}

// These need data that tools/setup fetches; japanese_test and pinyin_test see to them.
bool needs_data(Language language) {
  return language == Language::Zh || language == Language::Ja;
}

void expect_clean(const std::string& text, Language language) {
  const std::string clean = clean_text(text, language);
  std::size_t broken = 0;
  repair_utf8(clean, &broken);
  EXPECT_EQ(broken, 0U) << language_code(language);
  EXPECT_EQ(collapse_spaces(clean), clean) << language_code(language);
}

TEST(Fuzz, NoTextBreaksTheCleaner) {
  Random random(20240607);
  for (std::size_t run = 0; run < runs(); ++run) {
    const Language language = all_languages()[below(random, all_languages().size())];
    if (needs_data(language)) continue;
    expect_clean(random_bytes(random), language);
    expect_clean(random_unicode(random), language);
  }
}

std::string repeated(std::string_view unit, std::size_t length) {
  std::string text;
  while (text.size() < length) text += unit;
  return text + "x";
}

// Each would take a backtracking matcher or a careless loop quadratic time, and the test its time
// limit.
TEST(Fuzz, LongHostileTextTakesLinearTime) {
  for (const std::string_view unit :
       {"1", "1.", "1,",     "1.234", "1a234", "$",     "1$", "$1", ".",   "9.9", "0-", "1:",  "1/",
        "(", "a.", "\u200C", " ",     "é",     "1 234", "%",  "5%", "می ", "1-",  "،",  "\xFF"}) {
    const std::string text = repeated(unit, static_cast<std::size_t>(test::repetitions(40'000)));
    for (const Language language : {Language::En, Language::De, Language::Hi, Language::Fa}) {
      EXPECT_FALSE(clean_text(text, language).empty()) << unit << " " << language_code(language);
    }
  }
}

// An expression that repeats without a bound overflows the stack of ICU's matcher here.
TEST(Fuzz, LongRunsOverflowNoStack) {
  for (const std::string_view unit : {"1", "0-", "1,234", ".", "\u200C", "!"}) {
    EXPECT_NO_THROW((void)clean_text(repeated(unit, 150'000), Language::Fa)) << unit;
  }
}

}  // namespace
}  // namespace myxtts::fuzz_test
