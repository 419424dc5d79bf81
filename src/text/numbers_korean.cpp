// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "text/number_languages.h"
#include "text/spell_rules.h"

namespace myxtts {
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
constexpr std::array<Native, 9> kNativeUnits{{{"일", "한"},
                                              {"이", "두"},
                                              {"삼", "세"},
                                              {"사", "네"},
                                              {"오", "다섯"},
                                              {"육", "여섯"},
                                              {"칠", "일곱"},
                                              {"팔", "여덟"},
                                              {"구", "아홉"}}};
constexpr std::array<Native, 9> kNativeTens{{{"", "열"},
                                             {"이", "스물"},
                                             {"삼", "서른"},
                                             {"사", "마흔"},
                                             {"오", "쉰"},
                                             {"육", "예순"},
                                             {"칠", "일흔"},
                                             {"팔", "여든"},
                                             {"구", "아흔"}}};
constexpr std::string_view kTen = "십";
constexpr std::string_view kHundred = "백";
constexpr std::string_view kCounter = " 번째";

std::optional<std::string_view> native(std::string_view sino, const std::array<Native, 9>& table) {
  for (const auto& [from, to] : table) {
    if (from == sino) return to;
  }
  return std::nullopt;
}

std::string korean_cardinal(std::uint64_t number) {
  static const SpellRules rules(kSinoKorean);
  return rules.spell(number);
}

// What follows the hundreds in native numerals; nothing where the peer has no word for it.
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

std::string korean_decimal(const Decimal& number) {
  return spell_decimal(number, "점", korean_cardinal);
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

constinit const NumberWords kKoreanNumbers{korean_cardinal, korean_ordinal, korean_decimal,
                                           korean_amount};

}  // namespace myxtts
