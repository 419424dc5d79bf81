// SPDX-License-Identifier: Apache-2.0
// What the peer gives no example of, because it raises; and the traps. Parity is in
// clean_golden_test.
#include "text/cleaner.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace myxtts::cleaner_test {
namespace {

TEST(CleanText, CzechOrdinalsAreWordsBeforeABlankAndNumbersAtTheEnd) {
  EXPECT_EQ(clean_text("5. května", Language::Cs), "pátý května");
  EXPECT_EQ(clean_text("Bylo jich 5.", Language::Cs), "bylo jich pět.");
  EXPECT_EQ(clean_text("21. den, 100. den", Language::Cs), "dvacátý první den, stý den");
  EXPECT_EQ(clean_text("1968. rok", Language::Cs), "tisíc devětset šedesátý osmý rok");
  EXPECT_EQ(clean_text("1000. a 2000. host", Language::Cs), "tisící a dvoutisící host");
}

TEST(CleanText, HindiNumbersAreSaid) {
  EXPECT_EQ(clean_text("1,23,456 लोग", Language::Hi), "एक लाख तेईस हज़ार चार सौ छप्पन लोग");
  EXPECT_EQ(clean_text("12.5 सेकंड", Language::Hi), "साढ़े बारह सेकंड");
  EXPECT_EQ(clean_text("0.5, 1.5, 2.5", Language::Hi), "आधा, डेढ़, ढाई");
  EXPECT_EQ(clean_text("3.14", Language::Hi), "तीन दशमलव एक चार");
  EXPECT_EQ(clean_text("$5.50 ₹200 3€", Language::Hi), "पाँच डॉलर पचास सेंट दो सौ रुपये तीन यूरो");
  EXPECT_EQ(clean_text("1st 7वाँ 6th", Language::Hi), "पहला सातवाँ छठा");
  EXPECT_EQ(clean_text("१२३ ५०%", Language::Hi), "१२३ ५० प्रतिशत");
}

TEST(CleanText, ANumberTooLargeForWordsIsReadByItsDigits) {
  EXPECT_EQ(clean_text("1234567890123456", Language::En),
            "one two three four five six seven eight nine zero one two three four five six");
  EXPECT_EQ(clean_text("000000000000000000012", Language::En), "twelve");
  EXPECT_EQ(clean_text("1000000000000000th", Language::En),
            "one zero zero zero zero zero zero zero zero zero zero zero zero zero zero zero");
  EXPECT_EQ(clean_text("£1000000000000000 and £5", Language::En),
            "pound one zero zero zero zero zero zero zero zero zero zero zero zero zero zero zero "
            "and five pounds sterling");
}

TEST(CleanText, HungarianDecimalsOfManyPlacesAreReadByTheirDigits) {
  EXPECT_EQ(clean_text("3,1415", Language::Hu), "három egész egy négy egy öt");
}

TEST(CleanText, OrdinalsThatThePeerCannotSayAreCardinals) {
  EXPECT_EQ(clean_text("0th", Language::Pl), "zero");
  EXPECT_EQ(clean_text("101000th", Language::Pl), "sto jeden tysięcy");
}

TEST(CleanText, OneAmountThatCannotBeSaidLeavesTheLaterCurrenciesToo) {
  EXPECT_EQ(clean_text("£1 $2", Language::Pl), "funt jeden dolar dwa");
  EXPECT_EQ(clean_text("$2", Language::Pl), "dwa dolary amerykańskie");
  EXPECT_EQ(clean_text("$1.2.3 and €5", Language::En), "dollar one point two.three and €five");
}

TEST(CleanText, HundredthsAreRoundedHalfUpOnTheExactValue) {
  EXPECT_EQ(clean_text("$0.125", Language::En), "zero dollars, thirteen cents");  // exactly a half
  EXPECT_EQ(clean_text("$1.005", Language::En), "one dollar, zero cents");  // a little below it
  EXPECT_EQ(clean_text("$0.999", Language::En), "one dollar, zero cents");
}

TEST(CleanText, InvalidBytesBecomeTheReplacementCharacter) {
  EXPECT_EQ(clean_text("caf\xE9 3", Language::En), "caf\uFFFD three");
}

TEST(CleanText, BlanksAloneAreNothing) {
  EXPECT_EQ(clean_text("", Language::En), "");
  EXPECT_EQ(clean_text(" \t\u00A0\"", Language::De), "");
}

TEST(CleanText, ManyThreadsMayCleanAtOnce) {
  constexpr int kThreads = 8;
  const std::vector<Language> languages{Language::En, Language::It, Language::Ru, Language::Ar,
                                        Language::Fa, Language::Hi, Language::Cs, Language::Tr};
  const std::string text = "Dr. 1.234,5 am 3. $7.25 & 21% ۱۳۹۹/۱۲/۳۰";
  std::vector<std::string> expected;
  for (const Language language : languages) expected.push_back(clean_text(text, language));
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t round = 0; round < 200; ++round) {
        const std::size_t index = (thread + round) % languages.size();
        wrong[thread] += clean_text(text, languages[index]) != expected[index] ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
}

TEST(CleanText, ALanguageOutsideTheEighteenIsCleanedPlainly) {
  const Language romanian = Language::other("ro");
  EXPECT_EQ(clean_text("  „S\u0326i”\t12 % –  L’Étage…\n", romanian), "și 12 % - l'étage...");
  EXPECT_EQ(clean_text("«Ба\xff»", romanian), "ба\uFFFD");
  EXPECT_EQ(clean_text(" \n", romanian), "");
}

}  // namespace
}  // namespace myxtts::cleaner_test
