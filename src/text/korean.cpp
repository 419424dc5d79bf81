// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include <unicode/utf8.h>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"
#include "text/transliteration.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

using namespace std::string_view_literals;

constexpr std::array kInitials = {"g"sv,  "kk"sv, "n"sv, "d"sv,  "tt"sv, "l"sv, "m"sv,
                                  "b"sv,  "pp"sv, "s"sv, "ss"sv, ""sv,   "j"sv, "jj"sv,
                                  "ch"sv, "k"sv,  "t"sv, "p"sv,  "h"sv};
constexpr std::array kMedials = {"a"sv,  "ae"sv, "ya"sv, "yae"sv, "eo"sv, "e"sv,  "yeo"sv,
                                 "ye"sv, "o"sv,  "wa"sv, "wae"sv, "oe"sv, "yo"sv, "u"sv,
                                 "wo"sv, "we"sv, "wi"sv, "yu"sv,  "eu"sv, "ui"sv, "i"sv};
constexpr std::array kFinals = {""sv,   "g"sv,  "kk"sv, "gs"sv, "n"sv,  "nj"sv, "nh"sv,
                                "d"sv,  "l"sv,  "lg"sv, "lm"sv, "lb"sv, "ls"sv, "lt"sv,
                                "lp"sv, "lh"sv, "m"sv,  "b"sv,  "bs"sv, "s"sv,  "ss"sv,
                                "ng"sv, "j"sv,  "ch"sv, "k"sv,  "t"sv,  "p"sv,  "h"sv};
// A final and an initial that together look like another pair.
constexpr std::array kAmbiguous = {"bss"sv, "gss"sv, "jj"sv, "kk"sv, "kkk"sv, "lpp"sv, "lss"sv,
                                   "ltt"sv, "njj"sv, "pp"sv, "ss"sv, "sss"sv, "tt"sv};

constexpr char32_t kFirstSyllable = 0xAC00;
constexpr char32_t kLastSyllable = 0xD7A3;

bool needs_hyphen(std::string_view final, std::string_view initial) {
  if (initial.empty()) return true;
  return std::any_of(kAmbiguous.begin(), kAmbiguous.end(), [&](std::string_view pair) {
    return pair.size() == final.size() + initial.size() && pair.starts_with(final) &&
           pair.ends_with(initial);
  });
}

}  // namespace

std::string romanise_korean(std::string_view text) {
  std::string result;
  std::string_view final_before;
  bool after_syllable = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t letter = code_point_at(text, at);
    const auto length = static_cast<std::size_t>(U8_LENGTH(letter));
    const bool syllable = letter >= kFirstSyllable && letter <= kLastSyllable;
    if (syllable) {
      const std::size_t index = letter - kFirstSyllable;
      const auto initial = kInitials[index / 588];
      if (after_syllable && needs_hyphen(final_before, initial)) result += '-';
      final_before = kFinals[index % 28];
      result.append(initial).append(kMedials[index / 28 % 21]).append(final_before);
    } else {
      result.append(text.substr(at, length));
    }
    after_syllable = syllable;
    at += length;
  }
  return result;
}

namespace {

constexpr std::string_view kSinoKorean = R"(
cardinal:
0: 영; 일; 이; 삼; 사; 오; 육; 칠; 팔; 구
10: 십[>>]
20: <<십[>>]
100: 백[>>]
200: <<백[>>]
1000: 천[>>]
2000: <<천[>>]
10000: 만[ >>]
20000: <<만[ >>]
100000000: <<억[ >>]
1000000000000: <<조[ >>]
)";

// Native numerals, which count: by their Sino-Korean name.
using Native = std::pair<std::string_view, std::string_view>;
constexpr Native kNativeUnits[] = {{"일", "한"},   {"이", "두"},   {"삼", "세"},
                                   {"사", "네"},   {"오", "다섯"}, {"육", "여섯"},
                                   {"칠", "일곱"}, {"팔", "여덟"}, {"구", "아홉"}};
constexpr Native kNativeTens[] = {{"", "열"},     {"이", "스물"}, {"삼", "서른"},
                                  {"사", "마흔"}, {"오", "쉰"},   {"육", "예순"},
                                  {"칠", "일흔"}, {"팔", "여든"}, {"구", "아흔"}};
constexpr std::string_view kTen = "십";
constexpr std::string_view kHundred = "백";
constexpr std::string_view kCounter = " 번째";

std::optional<std::string_view> native(std::string_view sino, std::span<const Native> table) {
  for (const auto& [from, to] : table) {
    if (from == sino) return to;
  }
  return std::nullopt;
}

constexpr auto korean_cardinal = spell_by<kSinoKorean>;

// What follows the hundreds in native numerals; nothing where coqui-tts has no word for it.
std::optional<std::string> native_tail(std::string_view tail) {
  const std::size_t ten = tail.find(kTen);
  if (ten == std::string_view::npos) {
    const auto unit = native(tail, kNativeUnits);
    return unit ? std::optional(std::string(*unit)) : std::nullopt;
  }
  const auto tens = native(tail.substr(0, ten), kNativeTens);
  if (!tens) return std::nullopt;
  const std::string_view rest = tail.substr(ten + kTen.size());
  return std::string(*tens) + std::string(native(rest, kNativeUnits).value_or(rest));
}

std::string korean_ordinal(std::uint64_t number) {
  if (number == 1) return "첫 번째";
  const std::string words = korean_cardinal(number);
  const std::size_t space = words.rfind(' ');
  std::size_t start = space == std::string::npos ? 0 : space + 1;
  const std::size_t hundred = words.find(kHundred, start);
  if (hundred != std::string::npos) start = hundred + kHundred.size();
  const auto tail = native_tail(std::string_view(words).substr(start));
  if (!tail) return words + std::string(kCounter);
  const std::string_view blank = hundred != std::string::npos ? " " : "";
  return words.substr(0, start).append(blank).append(*tail).append(kCounter);
}

std::optional<std::string> korean_amount(const Amount& amount, Currency currency) {
  if (currency != Currency::Usd) return std::nullopt;
  std::string words;
  for (const char c : korean_cardinal(amount.units)) {
    if (c != ' ') words += c;
  }
  return words + "달러 " + korean_cardinal(amount.cents) + "센트";
}

}  // namespace

constinit const NumberWords kKoreanNumbers{
    .cardinal = korean_cardinal, .ordinal = korean_ordinal, .point = "점", .amount = korean_amount};

}  // namespace myxtts
