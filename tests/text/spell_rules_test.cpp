// SPDX-License-Identifier: Apache-2.0
#include "text/numbers/spell_rules.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace myxtts::spell_rules_test {
namespace {

TEST(SpellRules, QuotientAndRemainderAreSaidByTheirSets) {
  const SpellRules rules(R"(
    main:
    0: zero; one; two; three
    4: many
    10: <<ty[->>]
    100: << hundred[>tail>]
    tail:
    0: ' and =main=
    10: , =main=
  )");
  EXPECT_EQ(rules.spell(0), "zero");
  EXPECT_EQ(rules.spell(9), "many");
  EXPECT_EQ(rules.spell(20), "twoty");
  EXPECT_EQ(rules.spell(31), "threety-one");
  EXPECT_EQ(rules.spell(203), "two hundred and three");
  EXPECT_EQ(rules.spell(120), "one hundred, twoty");
  EXPECT_EQ(rules.spell(7, "tail"), " and many");
}

TEST(SpellRules, ABarInBracketsHoldsWhatIsSaidWhenNothingIsLeftOver) {
  const SpellRules rules("main:\n0: nul; un; deux\n3: x\n100: << cent[ >>|s]");
  EXPECT_EQ(rules.spell(200), "deux cents");
  EXPECT_EQ(rules.spell(202), "deux cent deux");
}

TEST(SpellRules, ASlashCountsInOtherSteps) {
  const SpellRules rules(
      "main:\n0: nul; un; deux\n3: =main3=\n60/20: soixante[->>]\nmain3:\n0: trois\n12: douze");
  EXPECT_EQ(rules.spell(60), "soixante");
  EXPECT_EQ(rules.spell(72), "soixante-douze");
}

TEST(SpellRules, APlusPutsTheRulesOfALineThatFarApart) {
  const SpellRules rules("main:\n0: zero; one\n2: x\n20+10: twenty[->>]; thirty[->>]; forty[->>]");
  EXPECT_EQ(rules.spell(20), "twenty");
  EXPECT_EQ(rules.spell(31), "thirty-one");
  EXPECT_EQ(rules.spell(41), "forty-one");
}

TEST(SpellRules, ThreeFormsFollowTheNumberInFront) {
  const std::string table = "main:\n0: n\n1000: (one|few|many)";
  const SpellRules polish(table);
  const SpellRules russian(table, PluralRule::EndingInOneIsSingular);
  EXPECT_EQ(polish.spell(1000), "one");
  EXPECT_EQ(polish.spell(3000), "few");
  EXPECT_EQ(polish.spell(12000), "many");
  EXPECT_EQ(polish.spell(21000), "many");
  EXPECT_EQ(polish.spell(22000), "few");
  EXPECT_EQ(russian.spell(21000), "one");
  EXPECT_EQ(russian.spell(11000), "many");
  EXPECT_EQ(russian.spell(111000), "many");
}

TEST(SpellRules, ABrokenTableIsOurBug) {
  EXPECT_THROW(SpellRules("main:\n5: five"), InternalError);              // does not start at 0
  EXPECT_THROW(SpellRules("main:\n0: a\n9: b\n8: c"), InternalError);     // not rising
  EXPECT_THROW(SpellRules("main:\n0 a"), InternalError);                  // no colon
  EXPECT_THROW(SpellRules("main:\n0: a\n10: <x"), InternalError);         // a lone <
  EXPECT_THROW(SpellRules("main:\n0: a\n10: >other>"), InternalError);    // an empty set
  EXPECT_THROW(SpellRules("main:\n0: a\n10: (one|two)"), InternalError);  // two forms
  EXPECT_THROW((void)SpellRules("main:\n0: a").spell(1, "other"), InternalError);
}

}  // namespace
}  // namespace myxtts::spell_rules_test
