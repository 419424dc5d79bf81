// SPDX-License-Identifier: Apache-2.0
#include "text/money.h"

namespace myxtts {

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

std::string join_money(const MoneyPhrase& phrase, std::string_view separator) {
  std::string words = phrase.units;
  words.append(" ").append(phrase.unit).append(separator).append(" ");
  words.append(phrase.cents).append(" ").append(phrase.cent);
  return words;
}

std::string drop_cents_if_whole(std::string words, const Amount& amount,
                                std::string_view separator) {
  if (!amount.exact.integral()) return words;
  const std::size_t cut = words.rfind(std::string(separator) + " ");
  if (cut != std::string::npos) words.resize(cut);
  return words;
}

std::string spell_money(const Amount& amount, const MoneyNames& names, std::string_view separator,
                        std::string (*cardinal)(std::uint64_t)) {
  const MoneyPhrase phrase{cardinal(amount.units), names.unit[amount.units == 1 ? 0 : 2],
                           cardinal(amount.cents), names.cent[amount.cents == 1 ? 0 : 2]};
  return drop_cents_if_whole(join_money(phrase, separator), amount, separator);
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

}  // namespace myxtts
