// SPDX-License-Identifier: Apache-2.0
// coqui-tts cannot say a number in Hindi; everything here is ours.
#include <array>

#include "text/numbers/numbers.h"
#include "text/numbers/spell_rules.h"

namespace myxtts {
namespace {

constexpr std::string_view kHindi = R"(
cardinal:
0: शून्य; एक; दो; तीन; चार; पाँच; छह; सात; आठ; नौ
10: दस; ग्यारह; बारह; तेरह; चौदह; पन्द्रह; सोलह; सत्रह; अठारह; उन्नीस
20: बीस; इक्कीस; बाईस; तेईस; चौबीस; पच्चीस; छब्बीस; सत्ताईस; अट्ठाईस; उनतीस
30: तीस; इकतीस; बत्तीस; तैंतीस; चौंतीस; पैंतीस; छत्तीस; सैंतीस; अड़तीस; उनतालीस
40: चालीस; इकतालीस; बयालीस; तैंतालीस; चौवालीस; पैंतालीस; छियालीस; सैंतालीस; अड़तालीस; उनचास
50: पचास; इक्यावन; बावन; तिरेपन; चौवन; पचपन; छप्पन; सत्तावन; अट्ठावन; उनसठ
60: साठ; इकसठ; बासठ; तिरेसठ; चौंसठ; पैंसठ; छियासठ; सड़सठ; अड़सठ; उनहत्तर
70: सत्तर; इकहत्तर; बहत्तर; तिहत्तर; चौहत्तर; पचहत्तर; छिहत्तर; सतहत्तर; अठहत्तर; उनासी
80: अस्सी; इक्यासी; बयासी; तिरासी; चौरासी; पचासी; छियासी; सत्तासी; अट्ठासी; नवासी
90: नब्बे; इक्यानबे; बानबे; तिरानबे; चौरानबे; पंचानबे; छियानबे; सत्तानबे; अट्ठानबे; निन्यानबे
100: << सौ[ >>]
1000: << हज़ार[ >>]
100000: << लाख[ >>]
10000000: << करोड़[ >>]
1000000000: << अरब[ >>]
100000000000: << खरब[ >>]
ordinal:
0: शून्यवाँ; पहला; दूसरा; तीसरा; चौथा; पाँचवाँ; छठा
7: =cardinal=वाँ
)";

const SpellRules& hindi_rules() {
  static const SpellRules hindi(kHindi);
  return hindi;
}

std::string hindi_cardinal(std::uint64_t number) {
  return hindi_rules().spell(number);
}

std::string hindi_ordinal(std::uint64_t number) {
  return hindi_rules().spell(number, "ordinal");
}

// A half has words of its own: आधा, डेढ़, ढाई, and साढ़े before larger numbers.
std::string hindi_decimal(const Decimal& number) {
  if (number.integral()) return hindi_cardinal(number.whole);
  if (number.fraction != "5") return spell_decimal(number, "दशमलव", hindi_cardinal);
  switch (number.whole) {
    case 0:
      return "आधा";
    case 1:
      return "डेढ़";
    case 2:
      return "ढाई";
    default:
      return "साढ़े " + hindi_cardinal(number.whole);
  }
}

constexpr std::array<CurrencyWords, 4> kHindiMoney{
    {{"$", "डॉलर", "सेंट"}, {"£", "पाउंड", "पेंस"}, {"€", "यूरो", "सेंट"}, {"₹", "रुपये", "पैसे"}}};

std::string without_grouping(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool between = at > 0 && at + 1 < text.size() && is_ascii_digit(text[at - 1]) &&
                         is_ascii_digit(text[at + 1]);
    if (text[at] != ',' || !between) out += text[at];
  }
  return out;
}

// The end of digits, or of digits, a point and digits.
std::size_t end_of_number(std::string_view text, std::size_t at) {
  const std::size_t whole = end_of_digits(text, at);
  if (whole + 1 >= text.size() || text[whole] != '.' || !is_ascii_digit(text[whole + 1]))
    return whole;
  return end_of_digits(text, whole + 1);
}

// Zero parts are not said, unless there is nothing else.
std::string say_money(const Amount& amount, const CurrencyWords& money) {
  std::string words;
  if (amount.units != 0 || amount.cents == 0) {
    words = hindi_cardinal(amount.units) + " " + std::string(money.unit);
  }
  if (amount.cents == 0) return words;
  if (!words.empty()) words += ' ';
  return words + hindi_cardinal(amount.cents) + " " + std::string(money.cent);
}

// "$5" and "5$"; `text` starts at the sign or at the number. Returns how much of it was read.
std::size_t read_money(std::string_view text, const CurrencyWords& money, std::string& out) {
  const bool in_front = text.starts_with(money.sign);
  const std::size_t start = in_front ? money.sign.size() : 0;
  const std::size_t end = end_of_number(text, start);
  if (end == start || (!in_front && !text.substr(end).starts_with(money.sign))) return 0;
  const auto exact = read_decimal(text.substr(start, end - start));
  if (!exact) return 0;
  out += say_money(to_amount(*exact), money);
  return in_front ? end : end + money.sign.size();
}

std::string expand_one_money(std::string_view text, const CurrencyWords& money) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t read = read_money(text.substr(at), money, out)) {
      at += read;
      continue;
    }
    // A number that is no sum is passed as a whole, so that no part of it is taken for one.
    const std::size_t end = std::max(at + 1, end_of_number(text, at));
    out.append(text, at, end - at);
    at = end;
  }
  return out;
}

}  // namespace

std::string expand_hindi_money(std::string text) {
  text = without_grouping(text);
  for (const CurrencyWords& money : kHindiMoney) {
    if (text.find(money.sign) != std::string::npos) text = expand_one_money(text, money);
  }
  return text;
}

constinit const NumberWords kHindiNumbers{
    .cardinal = hindi_cardinal, .ordinal = hindi_ordinal, .decimal = hindi_decimal};

}  // namespace myxtts
