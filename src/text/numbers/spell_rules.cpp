// SPDX-License-Identifier: Apache-2.0
#include "text/numbers/spell_rules.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace myxtts {
namespace {

std::uint64_t largest_power_of_ten(std::uint64_t number) {
  std::uint64_t power = 1;
  while (number / power >= 10) power *= 10;
  return power;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

std::uint64_t read_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  MYXTTS_CHECK(error == std::errc(), "a spelling rule starts with no number: {}", text);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::size_t plural_form(std::uint64_t count, PluralRule rule) {
  const std::uint64_t last = count % 10;
  const bool teens = count % 100 >= 11 && count % 100 <= 19;
  if (count == 1) return 0;
  if (rule == PluralRule::EndingInOneIsSingular && last == 1 && !teens) return 0;
  return last >= 2 && last <= 4 && !teens ? 1 : 2;
}

SpellRules::SpellRules(std::string_view table, PluralRule plural) : plural_(plural) {
  while (!table.empty()) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    read_line(trimmed(table.substr(0, end)));
    table.remove_prefix(std::min(end + 1, table.size()));
  }
  for (const RuleSet& set : sets_) {
    MYXTTS_CHECK(!set.rules.empty() && set.rules.front().base == 0,
                 "the rule set '{}' does not start at 0", set.name);
  }
}

void SpellRules::read_line(std::string_view line) {
  if (line.empty()) return;
  if (line.back() == ':') {
    current_ = named_set(line.substr(0, line.size() - 1));
    return;
  }
  std::uint64_t base = read_number(line);
  const auto number_after = [&line](char mark, std::uint64_t absent) {
    if (!line.starts_with(mark)) return absent;
    line.remove_prefix(1);
    return read_number(line);
  };
  const std::uint64_t divisor = number_after('/', 0);
  const std::uint64_t step = number_after('+', 1);
  MYXTTS_CHECK(line.starts_with(':'), "a spelling rule lacks its colon: {}", line);
  line.remove_prefix(1);
  while (true) {
    const std::size_t end = std::min(line.find(';'), line.size());
    add_rule(base, divisor, trimmed(line.substr(0, end)));
    base += step;
    if (end == line.size()) return;
    line.remove_prefix(end + 1);
  }
}

void SpellRules::add_rule(std::uint64_t base, std::uint64_t divisor, std::string_view text) {
  Rule rule{
      base, divisor != 0 ? divisor : largest_power_of_ten(std::max<std::uint64_t>(base, 1)), {}};
  When when = When::Always;
  for (std::size_t at = 0; at < text.size();) {
    switch (text[at]) {
      case '[':
        when = When::Remainder;
        ++at;
        break;
      case '|':
        when = When::NoRemainder;
        ++at;
        break;
      case ']':
        when = When::Always;
        ++at;
        break;
      default:
        add_part(text, at, when, rule.parts);
    }
  }
  std::vector<Rule>& rules = sets_[current_].rules;
  MYXTTS_CHECK(rules.empty() || rules.back().base < base, "the rule for {} stands too late", base);
  rules.push_back(std::move(rule));
}

void SpellRules::add_part(std::string_view text, std::size_t& at, When when,
                          std::vector<Part>& parts) {
  const char mark = text[at];
  if (mark == '<' || mark == '>' || mark == '=') {
    const std::size_t end = text.find(mark, at + 1);
    MYXTTS_CHECK(end != std::string_view::npos, "a spelling rule has a lone {}: {}", mark, text);
    const std::string_view name = text.substr(at + 1, end - at - 1);
    const Say say = mark == '<' ? Say::Quotient : mark == '>' ? Say::Remainder : Say::Itself;
    parts.push_back({say, when, name.empty() ? current_ : named_set(name), {}});
    at = end + 1;
    return;
  }
  if (mark == '(') {
    const std::size_t end = text.find(')', at);
    const std::size_t first = text.find('|', at);
    const std::size_t second = text.find('|', first + 1);
    MYXTTS_CHECK(second < end && end != std::string_view::npos, "three forms are wanted: {}", text);
    parts.push_back({Say::Plural,
                     when,
                     0,
                     {std::string(text.substr(at + 1, first - at - 1)),
                      std::string(text.substr(first + 1, second - first - 1)),
                      std::string(text.substr(second + 1, end - second - 1))}});
    at = end + 1;
    return;
  }
  if (mark == '\'') ++at;
  const std::size_t end = std::min(text.find_first_of("<>=([]|", at), text.size());
  parts.push_back({Say::Text, when, 0, {std::string(text.substr(at, end - at))}});
  at = end;
}

std::size_t SpellRules::named_set(std::string_view name) {
  const auto found = std::ranges::find(sets_, name, &RuleSet::name);
  if (found != sets_.end()) return static_cast<std::size_t>(found - sets_.begin());
  sets_.push_back({std::string(name), {}});
  return sets_.size() - 1;
}

std::string SpellRules::spell(std::uint64_t number) const {
  std::string words;
  say(number, sets_.front(), words);
  return words;
}

std::string SpellRules::spell(std::uint64_t number, std::string_view set) const {
  const auto found = std::ranges::find(sets_, set, &RuleSet::name);
  MYXTTS_CHECK(found != sets_.end(), "there is no rule set '{}'", set);
  std::string words;
  say(number, *found, words);
  return words;
}

// As deep as the number has groups: each step divides by at least ten or leaves a smaller rest.
void SpellRules::say(std::uint64_t number, const RuleSet& set, std::string& out) const {
  const auto after = std::ranges::upper_bound(set.rules, number, {}, &Rule::base);
  const Rule& rule = *std::prev(after);
  const std::uint64_t quotient = number / rule.divisor;
  const std::uint64_t remainder = number % rule.divisor;
  for (const Part& part : rule.parts) {
    if (part.when == (remainder == 0 ? When::Remainder : When::NoRemainder)) continue;
    switch (part.say) {
      case Say::Text:
        out += part.texts.front();
        break;
      case Say::Plural:
        out += part.texts[plural_form(quotient, plural_)];
        break;
      case Say::Quotient:
        say(quotient, sets_[part.set], out);
        break;
      case Say::Remainder:
        say(remainder, sets_[part.set], out);
        break;
      case Say::Itself:
        say(number, sets_[part.set], out);
        break;
    }
  }
}

}  // namespace myxtts
