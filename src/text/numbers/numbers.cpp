// SPDX-License-Identifier: Apache-2.0
#include "text/numbers/numbers.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace myxtts {
namespace {

std::uint64_t hundredths_half_up(double fraction) {
  // fma rounds once, so its sign is that of the exact difference.
  auto cents = static_cast<std::uint64_t>(fraction * 100.0 + 0.5);
  const auto reaches = [&](std::uint64_t n) {
    return std::fma(fraction, 200.0, -(2.0 * static_cast<double>(n) - 1.0)) >= 0;
  };
  while (reaches(cents + 1)) ++cents;
  while (cents > 0 && !reaches(cents)) --cents;
  return cents;
}

}  // namespace

const NumberWords& number_words(Language language) {
  static constexpr std::pair<Language, const NumberWords*> kWords[] = {
      {Language::En, &kEnglishNumbers},   {Language::Es, &kSpanishNumbers},
      {Language::Fr, &kFrenchNumbers},    {Language::De, &kGermanNumbers},
      {Language::It, &kItalianNumbers},   {Language::Pt, &kPortugueseNumbers},
      {Language::Pl, &kPolishNumbers},    {Language::Tr, &kTurkishNumbers},
      {Language::Ru, &kRussianNumbers},   {Language::Nl, &kDutchNumbers},
      {Language::Cs, &kCzechNumbers},     {Language::Ar, &kArabicNumbers},
      {Language::Hu, &kHungarianNumbers}, {Language::Ko, &kKoreanNumbers},
      {Language::Hi, &kHindiNumbers}};
  const auto* const found = find_language(kWords, language);
  MYXTTS_CHECK(found != nullptr, "{} has no table of number words", language_code(language));
  return **found;
}

std::string NumberWords::say_decimal(const Decimal& number) const {
  return decimal != nullptr ? decimal(number) : spell_decimal(number, point, cardinal);
}

std::optional<std::string> NumberWords::say_amount(const Amount& sum, Currency currency) const {
  return amount != nullptr ? amount(sum, currency) : spell_money(sum, currency, *money, cardinal);
}

std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(number.value < static_cast<double>(kLargestSpelled))) return std::nullopt;
  number.whole = static_cast<std::uint64_t>(number.value);
  // A subnormal number has some 330 digits after the point.
  std::array<char, 400> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number.value,
                                     std::chars_format::fixed);
  const std::string_view digits(buffer.data(),
                                static_cast<std::size_t>(written.ptr - buffer.data()));
  const std::size_t point = digits.find('.');
  number.fraction = point == std::string_view::npos ? "0" : std::string(digits.substr(point + 1));
  return number;
}

Amount to_amount(Decimal exact) {
  const double whole = std::floor(exact.value);
  const std::uint64_t cents = hundredths_half_up(exact.value - whole);
  const std::uint64_t units = exact.whole + cents / 100;
  return {std::move(exact), units, cents % 100};
}

std::uint64_t to_integer(std::string_view digits) {
  std::uint64_t number = 0;
  for (const char digit : digits) number = number * 10 + static_cast<std::uint64_t>(digit - '0');
  return number;
}

std::string spell_integer(std::string_view digits, std::string (*cardinal)(std::uint64_t)) {
  const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  digits.remove_prefix(first);
  if (digits.size() > 15) return spell_digits(digits, cardinal);
  return cardinal(to_integer(digits));
}

std::string spell_digits(std::string_view digits, std::string (*cardinal)(std::uint64_t)) {
  std::array<std::string, 10> words;
  for (std::uint64_t digit = 0; digit < 10; ++digit) words[digit] = cardinal(digit);
  std::string out;
  for (const char digit : digits) {
    if (!out.empty()) out += ' ';
    out += words[static_cast<std::size_t>(digit - '0')];
  }
  return out;
}

namespace {

// Note [Digits after the point]: coqui-tts computes them from the double, (value - whole) * 10^n,
// and takes the floor unless that is within 0.01 of an integer; for long fractions the last digits
// differ from the written ones.
std::string digits_after_point(const Decimal& number) {
  const double whole = std::floor(number.value);
  const double scaled =
      (number.value - whole) * std::pow(10.0, static_cast<double>(number.fraction.size()));
  const double nearest = std::nearbyint(scaled);
  if (!(nearest < 1e18)) return number.fraction;
  const double kept = std::abs(nearest - scaled) < 0.01 ? nearest : std::floor(scaled);
  std::string digits = fmt::format("{}", static_cast<std::uint64_t>(kept));
  if (digits.size() < number.fraction.size()) {
    digits.insert(0, number.fraction.size() - digits.size(), '0');
  }
  digits.resize(number.fraction.size());
  return digits;
}

}  // namespace

std::string spell_decimal(const Decimal& number, std::string_view point,
                          std::string (*cardinal)(std::uint64_t)) {
  std::string words = cardinal(number.whole);
  if (number.integral()) return words;
  return fmt::format("{} {} {}", words, point, spell_digits(digits_after_point(number), cardinal));
}

const MoneyNames& MoneyTable::names(Currency currency) const {
  switch (currency) {
    case Currency::Gbp:
      return gbp;
    case Currency::Usd:
      return usd;
    case Currency::Eur:
      break;
  }
  return eur;
}

std::string join_money(const std::string& units, const Amount& amount, Currency currency,
                       const MoneyTable& table, std::string (*cardinal)(std::uint64_t)) {
  const MoneyNames& names = table.names(currency);
  return fmt::format("{} {}{} {} {}", units, names.unit[table.form(amount.units)], table.separator,
                     cardinal(amount.cents), names.cent[table.form(amount.cents)]);
}

std::string drop_cents_if_whole(std::string words, const Amount& amount,
                                std::string_view separator) {
  if (!amount.exact.integral()) return words;
  const std::size_t cut = words.rfind(std::string(separator) + " ");
  if (cut != std::string::npos) words.resize(cut);
  return words;
}

std::optional<std::string> spell_money(const Amount& amount, Currency currency,
                                       const MoneyTable& table,
                                       std::string (*cardinal)(std::uint64_t)) {
  if (!table.names(currency).known()) return std::nullopt;
  return drop_cents_if_whole(join_money(cardinal(amount.units), amount, currency, table, cardinal),
                             amount, table.separator);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::size_t at = text.find(from);
  if (at == std::string::npos) return;
  std::string out;
  std::size_t copied = 0;
  for (; at != std::string::npos; at = text.find(from, copied)) {
    out.append(text, copied, at - copied).append(to);
    copied = at + from.size();
  }
  text = out.append(text, copied, std::string::npos);
}

bool replace_ending(std::string& word, std::span<const Ending> endings) {
  for (const auto& [from, to] : endings) {
    if (!word.ends_with(from)) continue;
    word.resize(word.size() - from.size());
    word += to;
    return true;
  }
  return false;
}

}  // namespace myxtts
