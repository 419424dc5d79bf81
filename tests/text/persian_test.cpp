// SPDX-License-Identifier: Apache-2.0
// What is done to Persian, case by case: text, clean text, why. A bar stands for the half-space
// (U+200C). A speaker of Persian who finds one wrong need only change its row and the table or rule
// in src/text/persian.cpp or persian_numbers.cpp that makes it.
#include "text/persian.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "text/cleaner.h"
#include "text/unicode.h"

namespace myxtts::persian_test {
namespace {

struct Case {
  std::string text, clean, why;
};

std::string with_half_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') {
      out += "\u200C";
    } else {
      out += c;
    }
  }
  return out;
}

void check(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    EXPECT_EQ(clean_text(with_half_spaces(one.text), Language::Fa), with_half_spaces(one.clean))
        << "from " << one.text << ": " << one.why;
  }
}

// One case, one line.
// clang-format off

TEST(PersianLetters, AreAsInTheTable) {
  check({
      {"كتاب", "کتاب", "Arabic kaf is the Persian one"},
      {"علي", "علی", "Arabic yeh is the Persian one"},
      {"موسى", "موسی", "alef maksura is yeh"},
      {"ڪار", "کار", "swash kaf is kaf"},
      {"ګل", "گل", "Pashto gaf is gaf"},
      {"ہوا", "هوا", "Urdu heh is heh"},
      {"ھوا", "هوا", "heh with two eyes is heh"},
      {"دۍ ېک", "دی یک", "Pashto yehs are yeh"},
      {"مدرسة", "مدرسه", "teh marbuta is heh"},
      {"إيران", "ایران", "alef with hamza below is alef"},
      {"ٱلله", "الله", "alef wasla is alef"},
      {"مسئول مؤمن أخذ جزء آب", "مسئول مؤمن أخذ جزء آب", "hamza on its seats, by itself, and madda stay"},
      {"خانۀ من", "خانه|ی من", "heh with yeh above is said as heh and yeh"},
      {"خانهٔ من", "خانه|ی من", "the same written with a hamza above"},
      {"پژوهشگر چاق", "پژوهشگر چاق", "the four letters Arabic lacks stay"},
  });
}

TEST(PersianPresentationForms, AreAsInTheTable) {
  check({
      {"ﺳﻼﻡ", "سلام", "letters drawn in their joined forms are the plain ones"},
      {"ﻻ", "لا", "a ligature is its letters"},
      {"ﷲ", "الله", "the ligature of Allah is its letters"},
      {"ﷺ", "صلی الله علیه وسلم", "the blessing in one character is spelled out"},
      {"۵۰ ﷼", "پنجاه ریال", "the sign of the rial is its word"},
      {"ﭘﮋﮔﭼ", "پژگچ", "Persian joined forms too"},
  });
}

TEST(PersianVowelSignsAndStretching, AreAsInTheTable) {
  check({
      {"گُلِ سَرخ", "گل سرخ", "short vowels go"},
      {"مدّت", "مدت", "the doubling sign goes"},
      {"مثلاً", "مثلاً", "the tanwin of fatha stays: it is heard"},
      {"رحمٰن", "رحمن", "the small alef goes"},
      {"ســـلام", "سلام", "stretched letters are not"},
      {"قُرآنۖ", "قرآن", "signs of recitation go"},
  });
}

TEST(PersianUnseenCharacters, AreAsInTheTable) {
  check({
      {"می\u200Bروم", "میروم", "a zero width space is nothing"},
      {"سلام\u200F", "سلام", "a right-to-left mark is nothing"},
      {"\u202Bسلام\u202C", "سلام", "embedding marks are nothing"},
      {"\uFEFFسلام", "سلام", "a byte order mark is nothing"},
      {"کتاب\u00ADخانه", "کتابخانه", "a soft hyphen is nothing"},
      {"\u2067سلام\u2069", "سلام", "isolates are nothing"},
      {"کتاب¬ها", "کتاب|ها", "the sign some keyboards type for a half-space is one"},
  });
}

TEST(PersianDigits, AreAsInTheTable) {
  check({
      {"۱۲۳", "صد و بیست و سه", "Persian digits"},
      {"١٢٣", "صد و بیست و سه", "Arabic digits"},
      {"123", "صد و بیست و سه", "European digits"},
      {"۱٢3", "صد و بیست و سه", "all in one number"},
  });
}

TEST(PersianCardinals, AreAsInTheTable) {
  check({
      {"۰", "صفر", "zero"},
      {"۲۱", "بیست و یک", "tens and units are joined by and"},
      {"۱۰۰", "صد", "a hundred has no one in front"},
      {"۱۰۰۰", "هزار", "a thousand has no one in front"},
      {"۱۰۰۱", "هزار و یک", "thousand and one"},
      {"۱۱۱۱", "هزار و صد و یازده", "every part is joined by and"},
      {"۲۰۰۰", "دو هزار", "two thousand"},
      {"۱۰۰۰۰۰۰", "یک میلیون", "a million has its one"},
      {"۱۲۳۴۵۶۷۸۹", "صد و بیست و سه میلیون و چهارصد و پنجاه و شش هزار و هفتصد و هشتاد و نه", "hundreds of millions"},
      {"۱۰۰۰۰۰۰۰۰۰", "یک میلیارد", "a milliard"},
      {"۳۰۰۰۰۰۰۰۰۰۰۰۰", "سه تریلیون", "trillions"},
      {"۹۹۹۹۹۹۹۹۹۹۹۹۹۹۹", "نهصد و نود و نه تریلیون و نهصد و نود و نه میلیارد و نهصد و نود و نه میلیون و نهصد و نود و نه هزار و نهصد و نود و نه", "fifteen digits are still one number"},
      {"۱۲۳۴۵۶۷۸۹۰۱۲۳۴۵۶", "یک دو سه چهار پنج شش هفت هشت نه صفر یک دو سه چهار پنج شش", "sixteen are read one by one"},
      {"۰۰۷", "صفر صفر هفت", "a leading zero means digit by digit"},
      {"۰۹۱۲۳۴۵۶۷۸۹", "صفر نه یک دو سه چهار پنج شش هفت هشت نه", "so a telephone number is read by its digits"},
      {"۰۲۱-۸۸۷۷۶۶۵۵", "صفر دو یک هشت هشت هفت هفت شش شش پنج پنج", "also with a hyphen, which then is no range"},
      {"۰۹۱۲-۳۴۵-۶۷۸۹", "صفر نه یک دو سه چهار پنج شش هفت هشت نه", "and with two"},
  });
}

TEST(PersianGrouping, AreAsInTheTable) {
  check({
      {"۷٬۵۰۰", "هفت هزار و پانصد", "the Persian thousands mark"},
      {"7,500", "هفت هزار و پانصد", "the European one"},
      {"۱٬۲۳۴٬۵۶۷", "یک میلیون و دویست و سی و چهار هزار و پانصد و شصت و هفت", "several groups"},
      {"۱,۲۳", "یک، بیست و سه", "a group of two is no group: a list"},
      {"۱,۲۳۴,۵", "یک، دویست و سی و چهار، پنج", "nor is a chain with a short end"},
      {"۱٬۲۳۴٫۵", "هزار و دویست و سی و چهار ممیز پنج دهم", "a group and a decimal"},
  });
}

TEST(PersianDecimals, AreAsInTheTable) {
  check({
      {"۲٫۵", "دو ممیز پنج دهم", "tenths"},
      {"۲٫۷۵", "دو ممیز هفتاد و پنج صدم", "hundredths"},
      {"۳٫۱۲۵", "سه ممیز صد و بیست و پنج هزارم", "thousandths"},
      {"۳٫۱۴۱۵", "سه ممیز یک چهار یک پنج", "more than three places are read digit by digit"},
      {"۰٫۵", "صفر ممیز پنج دهم", "zero whole"},
      {"۲٫۰۵", "دو ممیز پنج صدم", "five hundredths, not five tenths"},
      {"۲٫۵۰", "دو ممیز پنجاه صدم", "fifty hundredths as written"},
      {"۲٫۰", "دو", "a zero fraction is not said"},
      {"۱۲/۵", "دوازده ممیز پنج دهم", "the slash Persian writes for a decimal point"},
      {"۱۹۲٫۱۶۸٫۱٫۱", "صد و نود و دو. صد و شصت و هشت. یک. یک", "a chain of dots is no decimal"},
      {"نسخه ۱.۲.۳", "نسخه یک. دو. سه", "nor is a version"},
  });
}

TEST(PersianFractions, AreAsInTheTable) {
  check({
      {"۳/۴", "سه چهارم", "three quarters"},
      {"۱/۲", "یک دوم", "one half"},
      {"۲/۳ جمعیت", "دو سوم جمعیت", "two thirds"},
      {"۹/۱۰", "نه دهم", "up to tenths"},
      {"۱/۱۱", "یک ممیز یازده صدم", "eleven is a decimal's fraction"},
      {"۵/۴", "پنج ممیز چهار دهم", "more than one is a decimal"},
      {"۳/۰۴", "سه ممیز چهار صدم", "a zero after the slash makes it a decimal"},
  });
}

TEST(PersianOrdinals, AreAsInTheTable) {
  check({
      {"۱م", "یکم", "the first by its number"},
      {"۲ام", "دوم", "second"},
      {"۳ام", "سوم", "three changes: سوم"},
      {"۲۳ام", "بیست و سوم", "also at the end of a number"},
      {"۳۰ام", "سی|ام", "thirty ends in yeh, which takes a half-space and alef"},
      {"۵ مین", "پنجمین", "the form before a noun, after a blank"},
      {"۱۰|ام", "دهم", "after a half-space"},
      {"۱۰۰امین سال", "صدمین سال", "hundredth, before a noun"},
      {"۲۱مین", "بیست و یکمین", "twenty-first"},
      {"۵ مرد", "پنج مرد", "a word that only starts with meem is no ending"},
      {"۳ امید", "سه امید", "nor one that starts with alef and meem"},
  });
}

TEST(PersianPercent, AreAsInTheTable) {
  check({
      {"۴۵٪", "چهل و پنج درصد", "the Persian sign"},
      {"45%", "چهل و پنج درصد", "the European one"},
      {"٪۴۵", "چهل و پنج درصد", "in front"},
      {"۴۵ %", "چهل و پنج درصد", "after a blank"},
      {"۲٫۵٪", "دو ممیز پنج دهم درصد", "of a decimal"},
      {"۵-۱۰٪", "پنج تا ده درصد", "of a range"},
      {"درصد %", "درصد درصد", "by itself a word"},
  });
}

TEST(PersianMoney, AreAsInTheTable) {
  check({
      {"$5", "پنج دلار", "dollars"},
      {"5$", "پنج دلار", "the sign behind"},
      {"۵ $", "پنج دلار", "after a blank"},
      {"$5.50", "پنج دلار و پنجاه سنت", "and cents"},
      {"$0.50", "پنجاه سنت", "no dollars are not said"},
      {"€3", "سه یورو", "euros"},
      {"3.20€", "سه یورو و بیست سنت", "and their cents"},
      {"£2", "دو پوند", "pounds"},
      {"£2.01", "دو پوند و یک پنی", "and pence"},
      {"$1,200", "هزار و دویست دلار", "with a group"},
      {"۲۰۰ تومان", "دویست تومان", "tomans are a word already"},
      {"۲۰۰ ریال", "دویست ریال", "so are rials"},
      {"$ گران است", "دلار گران است", "a sign without a number is a word"},
  });
}

TEST(PersianDates, AreAsInTheTable) {
  check({
      {"۱۳۹۹/۱۲/۳۰", "سی|ام اسفند هزار و سیصد و نود و نه", "year, month, day of the solar calendar"},
      {"۱۴۰۲-۰۱-۰۵", "پنجم فروردین هزار و چهارصد و دو", "with hyphens and leading zeros"},
      {"۲۲/۱۱/۱۳۵۷", "بیست و دوم بهمن هزار و سیصد و پنجاه و هفت", "day first"},
      {"2021/03/05", "پنجم مارس دو هزار و بیست و یک", "a Gregorian year has Gregorian months"},
      {"5/3/2021", "پنجم مارس دو هزار و بیست و یک", "day first, as in Iran"},
      {"۱۴۰۲/۱۳/۰۱", "هزار و چهارصد و دو/سیزده/صفر یک", "there is no thirteenth month: numbers"},
      {"۱۴۰۲/۱/۳۲", "هزار و چهارصد و دو/یک/سی و دو", "nor a thirty-second day"},
      {"۱۱۰۰/۱/۱", "هزار و صد/یک/یک", "too early for either calendar"},
      {"از ۱۴۰۰/۱/۱ تا ۱۴۰۰/۱۲/۲۹", "از یکم فروردین هزار و چهارصد تا بیست و نهم اسفند هزار و چهارصد", "two dates"},
  });
}

TEST(PersianTimes, AreAsInTheTable) {
  check({
      {"۹:۱۵", "نه و پانزده دقیقه", "hours and minutes"},
      {"۰۹:۰۵", "نه و پنج دقیقه", "leading zeros are not said"},
      {"۹:۰۰", "نه", "a full hour"},
      {"۱۲:۳۰:۴۵", "دوازده و سی دقیقه و چهل و پنج ثانیه", "with seconds"},
      {"۱۲:۰۰:۰۵", "دوازده و پنج ثانیه", "minutes of zero are not said"},
      {"۰:۱۵", "صفر و پانزده دقیقه", "but an hour of zero is"},
      {"۲۴:۰۰", "بیست و چهار", "midnight"},
      {"۲۵:۱۰", "بیست و پنج: ده", "no such hour"},
      {"۹:۶۵", "نه: شصت و پنج", "no such minute"},
  });
}

TEST(PersianRangesAndSigns, AreAsInTheTable) {
  check({
      {"۵-۱۰", "پنج تا ده", "a range"},
      {"۵–۱۰", "پنج تا ده", "with a dash"},
      {"۱۹۸۰—۱۹۹۰", "هزار و نهصد و هشتاد تا هزار و نهصد و نود", "with a long dash"},
      {"۱٫۵-۲٫۵", "یک ممیز پنج دهم تا دو ممیز پنج دهم", "of decimals"},
      {"-۵", "منفی پنج", "a minus"},
      {"−۵", "منفی پنج", "the sign of mathematics"},
      {"دمای -۱۲ درجه", "دمای منفی دوازده درجه", "within a sentence"},
      {"کد آ-۵", "کد آ-پنج", "after a letter it is a hyphen"},
  });
}

TEST(PersianNumbersBesideLetters, AreAsInTheTable) {
  check({
      {"۵کیلو", "پنج کیلو", "words do not run together"},
      {"mp3", "mp سه", "also in Latin letters"},
      {"۵|تایی", "پنج|تایی", "a half-space holds them together"},
  });
}

TEST(PersianAbbreviations, AreAsInTheTable) {
  check({
      {"محمد (ص)", "محمد صلی الله علیه و آله", "the blessing of the prophet"},
      {"علی(ع)", "علی علیه السلام", "of an imam, without a blank"},
      {"فاطمه (س)", "فاطمه سلام الله علیها", "of Fatima"},
      {"امام (ره)", "امام رحمت الله علیه", "of the dead"},
      {"مهدی (عج)", "مهدی عجل الله تعالی فرجه", "of the awaited"},
      {"سال ۱۳۵۷ ه.ش", "سال هزار و سیصد و پنجاه و هفت هجری شمسی", "the solar era"},
      {"۱۴۴۴ ه.ق.", "هزار و چهارصد و چهل و چهار هجری قمری", "the lunar one, with its last dot"},
      {"۵۰۰ ق.م", "پانصد قبل از میلاد", "before Christ"},
      {"کوه.شمال", "کوه. شمال", "not inside words: a full stop"},
  });
}

TEST(PersianSymbols, AreAsInTheTable) {
  check({
      {"نان & پنیر", "نان و پنیر", "and"},
      {"a@b", "a ات b", "at"},
      {"#۵", "شماره پنج", "number"},
      {"۲۰°", "بیست درجه", "degrees"},
      {"۲۰°C", "بیست درجه سانتی|گراد", "of Celsius"},
      {"۲+۲=۴", "دو به علاوه دو مساوی چهار", "plus and equals"},
      {"۲×۳", "دو ضربدر سه", "times"},
  });
}

TEST(PersianPunctuation, AreAsInTheTable) {
  check({
      {"سلام, خوبی?", "سلام، خوبی؟", "Latin marks are Persian ones"},
      {"آب; نان", "آب؛ نان", "the semicolon too"},
      {"سلام ، خوبی ؟", "سلام، خوبی؟", "no blank before a mark"},
      {"سلام،خوبی", "سلام، خوبی", "one after it"},
      {"چی؟؟؟", "چی؟", "a mark once"},
      {"وای!!!", "وای!", "also this one"},
      {"خب...", "خب…", "three dots are one character"},
      {"رفت.آمد", "رفت. آمد", "a blank after a full stop between Persian words"},
      {"www.site.ir", "www.site.ir", "not between Latin ones"},
      {"( سلام )", "(سلام)", "no blank inside brackets"},
      {"«سلام» \"خوب\" “بله”", "سلام خوب بله", "quotation marks go"},
      {"گفت:برو", "گفت: برو", "a blank after a colon"},
  });
}

TEST(PersianHalfSpaces, AreAsInTheTable) {
  check({
      {"می روم", "می|روم", "the prefix of the present"},
      {"نمی روم", "نمی|روم", "and its negation"},
      {"می|روم", "می|روم", "already there"},
      {"می| روم", "می|روم", "a half-space and a blank"},
      {"قدیمی است", "قدیمی است", "a word that ends in it is no prefix"},
      {"کتاب ها", "کتاب|ها", "the plural"},
      {"کتاب های من", "کتاب|های من", "with its ezafe"},
      {"دوست هایمان", "دوست|هایمان", "with its owner"},
      {"بزرگ تر", "بزرگ|تر", "the comparative"},
      {"بزرگ ترین", "بزرگ|ترین", "the superlative"},
      {"و ها", "و ها", "one letter is too little to join to"},
      {"رفته ام", "رفته|ام", "the perfect"},
      {"گفته اند و شنیده ایم", "گفته|اند و شنیده|ایم", "other persons of it"},
      {"که ای", "که ای", "که is a word by itself"},
      {"خانه ای دیدم", "خانه|ای دیدم", "the indefinite after heh"},
      {"ها||ی", "ها|ی", "a run of half-spaces is one"},
      {"|سلام| ", "سلام", "half-spaces at the borders of words go"},
  });
}

TEST(PersianBlanksAndLatinLetters, AreAsInTheTable) {
  check({
      {"  سلام\t\n دنیا  ", "سلام دنیا", "blanks are one space, none at the ends"},
      {"سلام\u00A0دنیا", "سلام دنیا", "also the one that does not break"},
      {"BBC Persian", "bbc persian", "lower case"},
      {"", "", "nothing stays nothing"},
  });
}
// clang-format on

TEST(Persian, CleaningTwiceChangesNothingMore) {
  for (const std::string text :
       {"کتاب های ۵ ساله (ص)", "۱۳۹۹/۱۲/۳۰ ساعت ۹:۱۵!!", "$5.50 & ۴۵٪ ... رفته ام"}) {
    const std::string once = clean_text(text, Language::Fa);
    EXPECT_EQ(clean_text(once, Language::Fa), once);
  }
}

TEST(Persian, ArabicIsCleanedByItsOwnRulesAndNotByThese) {
  EXPECT_EQ(clean_text("كتابٌ في المدرسة ي ، \"٣\"", Language::Ar), "كتابٌ في المدرسة ي ، ٣");
  EXPECT_EQ(clean_text("عندي 211 كتاباً و 40%", Language::Ar),
            "عندي مئتان و أحد عشر كتاباً و أربعون في المئة");
}

}  // namespace
}  // namespace myxtts::persian_test
