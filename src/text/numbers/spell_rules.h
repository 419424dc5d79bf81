// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// Which numbers take the form for one: 1 alone (Polish, Czech), or 1, 21, 31 ... (Russian).
enum class PluralRule { OnlyOneIsSingular, EndingInOneIsSingular };

// 0 for one, 1 for few (ending in 2 to 4 but not 12 to 14), 2 for many.
std::size_t plural_form(std::uint64_t count, PluralRule rule);

// Words for numbers, from a table that a speaker of the language can read and correct.
//
//   cardinal:                     a rule set; the first one is the default
//   0: zero; one; two             consecutive numbers, separated by semicolons
//   20: twenty[->>]               from 20 on, until the next rule
//   30+10: thirty[->>]; forty     30 and 40: so far apart
//   100: << hundred[ and >>]      << is the number of hundreds, >> what is left over
//   1000: << thousand[>tail>]     >tail> is what is left over, said by the rule set "tail"
//   72/20: soixante->>            counts in twenties; without a slash, in the largest power of ten
//   2000: << (tisíc|tisíce|tisíc) the form for one, few (2 to 4) or many of what << says
//   tail:
//   1: ' and =cardinal=           =cardinal= is the number itself, by that rule set
//
// What stands in brackets is said only if something is left over, or if nothing is, after a bar:
// "200: << cent[ >>|s]". An apostrophe protects the blanks
// after it. Immutable after construction: many threads may spell at once.
class SpellRules {
 public:
  explicit SpellRules(std::string_view table, PluralRule plural = PluralRule::OnlyOneIsSingular);

  // The words of `number` by the first rule set, or by the named one.
  [[nodiscard]] std::string spell(std::uint64_t number) const;
  [[nodiscard]] std::string spell(std::uint64_t number, std::string_view set) const;

 private:
  enum class Say : std::uint8_t { Text, Quotient, Remainder, Itself, Plural };

  enum class When : std::uint8_t { Always, Remainder, NoRemainder };

  struct Part {
    Say say;
    When when;
    std::size_t set;                 // of Quotient, Remainder and Itself
    std::vector<std::string> texts;  // one, or the three forms of a Plural
  };
  struct Rule {
    std::uint64_t base;
    std::uint64_t divisor;
    std::vector<Part> parts;
  };
  struct RuleSet {
    std::string name;
    std::vector<Rule> rules;  // by rising base
  };

  void read_line(std::string_view line);
  void add_rule(std::uint64_t base, std::uint64_t divisor, std::string_view text);
  void add_part(std::string_view text, std::size_t& at, When when, std::vector<Part>& parts);
  [[nodiscard]] std::size_t named_set(std::string_view name);
  void say(std::uint64_t number, const RuleSet& set, std::string& out) const;

  PluralRule plural_;
  std::vector<RuleSet> sets_;
  std::size_t current_ = 0;  // the set being read
};

// The words of `number` by the first rule set of a table, which is read on first use.
template <const std::string_view& kTable>
std::string spell_by(std::uint64_t number) {
  static const SpellRules rules(kTable);
  return rules.spell(number);
}

}  // namespace myxtts
