// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "text/transliteration.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::u32string_view kDigits = U"零一二三四五六七八九";

using Unit = std::pair<std::size_t, char32_t>;  // the power of ten and its name
constexpr Unit kUnits[] = {{1, U'十'},  {2, U'百'},  {3, U'千'},  {4, U'万'},  {8, U'亿'},
                           {12, U'兆'}, {16, U'京'}, {20, U'垓'}, {24, U'秭'}, {28, U'穰'},
                           {32, U'沟'}, {36, U'涧'}, {40, U'正'}, {44, U'载'}};
// Longer numbers are read digit by digit: nobody says them, and reading them in units recurses.
constexpr std::size_t kLongestNumber = 10'000;

char32_t digit_name(char32_t digit) {
  const int value = u_charDigitValue(static_cast<UChar32>(digit));
  return kDigits[static_cast<std::size_t>(std::clamp(value, 0, 9))];
}

bool is_unit(char32_t symbol) {
  return std::any_of(std::begin(kUnits), std::end(kUnits),
                     [symbol](const Unit& unit) { return unit.second == symbol; });
}

// 1203 as 一千二百零三: the largest unit that fits divides the digits in two, each read the same
// way.
void read_in_units(std::u32string_view digits, std::u32string& symbols) {
  const auto first = std::min(digits.find_first_not_of(U'0'), digits.size());
  const auto significant = digits.substr(first);
  if (significant.empty()) return;
  if (significant.size() == 1) {
    if (first > 0) symbols += kDigits[0];
    symbols += digit_name(significant[0]);
    return;
  }
  auto [power, name] = kUnits[0];
  for (const auto& [larger, its_name] : kUnits) {
    if (larger < significant.size()) std::tie(power, name) = std::tie(larger, its_name);
  }
  read_in_units(digits.substr(0, digits.size() - power), symbols);
  symbols += name;
  read_in_units(significant.substr(significant.size() - power), symbols);
}

// Two is 两 before a unit other than ten, when it stands first or after a unit other than ten.
void say_two(std::u32string& symbols) {
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
    if (symbols[i] != U'二') continue;
    const bool before = is_unit(symbols[i + 1]) && symbols[i + 1] != U'十';
    const bool after = i == 0 || (is_unit(symbols[i - 1]) && symbols[i - 1] != U'十');
    if (before && after) symbols[i] = U'两';
  }
}

std::u32string say_digits(std::u32string_view digits) {
  std::u32string result;
  for (const char32_t digit : digits) result += digit_name(digit);
  return result;
}

// A number with at most one dot.
std::u32string say_number(std::u32string_view number) {
  const auto dot = std::min(number.find(U'.'), number.size());
  const auto whole = number.substr(0, dot);
  std::u32string result;
  if (whole.size() > 1 && whole.size() <= kLongestNumber) {
    read_in_units(whole, result);
  } else {
    result = say_digits(whole);
  }
  if (dot + 1 < number.size()) result += U'点' + say_digits(number.substr(dot + 1));
  say_two(result);
  if (result.starts_with(U'点')) return kDigits[0] + result;
  if (result.starts_with(U"一十")) result.erase(0, 1);
  return result;
}

std::u32string say_date(std::u32string_view date) {
  std::u32string result;
  if (const auto year = date.find(U'年'); year != date.npos) {
    result += say_digits(date.substr(0, year)) + U'年';
    date.remove_prefix(year + 1);
  }
  if (const auto month = date.find(U'月'); month != date.npos) {
    result += say_number(date.substr(0, month)) + U'月';
    date.remove_prefix(month + 1);
  }
  if (!date.empty()) result += say_number(date.substr(0, date.size() - 1)) + date.back();
  return result;
}

std::u32string say_fraction(std::u32string_view fraction) {
  const auto stroke = fraction.find(U'/');
  return say_number(fraction.substr(stroke + 1)) + U"分之" + say_number(fraction.substr(0, stroke));
}

std::u32string say_percentage(std::u32string_view percentage) {
  return U"百分之" + say_number(percentage.substr(0, percentage.size() - 1));
}

std::u32string say_telephone(std::u32string_view telephone) {
  std::u32string result;
  for (const char32_t c : telephone) {
    if (is_digit(c)) result += digit_name(c);
  }
  return result;
}

void replace_everywhere(std::u32string& text, const std::u32string& old,
                        const std::u32string& fresh) {
  for (auto at = text.find(old); at != text.npos; at = text.find(old, at + fresh.size())) {
    text.replace(at, old.size(), fresh);
  }
}

// Every number in a sum of money; equal numbers are replaced together, wherever they stand.
std::u32string say_money(std::u32string_view money) {
  std::u32string result(money);
  for (std::size_t at = 0; at < money.size();) {
    std::size_t end = at;
    const auto skip_digits = [&] {
      while (end < money.size() && is_digit(money[end])) ++end;
    };
    skip_digits();
    if (end == at) {
      ++at;
      continue;
    }
    if (end + 1 < money.size() && money[end] == U'.' && is_digit(money[end + 1])) {
      ++end;
      skip_digits();
    }
    const std::u32string number(money.substr(at, end - at));
    replace_everywhere(result, number, say_number(number));
    at = end;
  }
  return result;
}

std::u32string to_u32(const icu::UnicodeString& text) {
  std::u32string result;
  for (std::int32_t at = 0; at < text.length(); at = text.moveIndex32(at, 1)) {
    result += static_cast<char32_t>(text.char32At(at));
  }
  return result;
}

icu::UnicodeString from_u32(const std::u32string& text) {
  return icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(text.data()),
                                       static_cast<std::int32_t>(text.size()));
}

// One step: what it looks for (group 1) and how that is said.
struct Rule {
  Pattern pattern;
  std::u32string (*say)(std::u32string_view);
  std::int32_t digits;     // no match has fewer
  const char16_t* signs;   // every match has one of these; empty: it needs none
  bool needs_gap = false;  // the character before a match may not belong to the match before it
};

// Digits are taken whole (possessively) and only from their first one on: that finds the same
// matches as trying every place, in linear time.
std::span<const Rule> chinese_rules() {
  static const std::string number = "\\d++(?:\\.\\d++)?+";
  static const std::string year = "(?:[089]\\d|(?:19|20)\\d{2})年";
  static const std::string month = "\\d{1,2}月(?:\\d{1,2}[日号])?";
  static const std::string unit =
      "(?:亿|千万|百万|万|千|百|(?:亿|千万|百万|万|千|百|)元|(?:亿|千万|百万|万|千|百|)块|角|毛|"
      "分)";
  static const std::string quantifier =
      "(?:[千毫微]克|[千分厘毫微]米|["
      "匹张座回场尾条个首阙阵网炮顶丘棵只支袭辆挑担颗壳窠曲墙群腔砣客贯扎捆刀令打手"
      "罗坡山岭江溪钟队单双对出口头脚板跳枝件贴针线管名位身堂课本页家户层丝毫厘分钱两斤铢石钧锱忽寸"
      "尺丈里寻常铺程撮"
      "勺合升斗盘碗碟叠桶笼盆盒杯斛锅簋篮罐瓶壶卮盏箩箱煲啖袋钵年月日季刻时周天秒旬纪岁世更夜春夏秋"
      "冬代伏辈丸泡粒幢"
      "堆根道面片块])";
  static const Rule all[] = {
      {Pattern("(?<=\\D)(" + year + "(?:" + month + ")?|" + month + ")"), say_date, 1, u"年月",
       true},
      {Pattern("(?<=\\D)(" + number + "[多余几]?" + unit + "(?:\\d" + unit + "?)?)"), say_money, 1,
       u"亿万千百元块角毛分", true},
      {Pattern("\\D((?:\\+?86 ?)?1(?:[38]\\d|5[0-35-9]|7[678]|9[89])\\d{8})\\D"), say_telephone, 11,
       u""},
      {Pattern("\\D((?:0(?:10|2[1-3]|[3-9]\\d{2})-?)?[1-9]\\d{6,7})\\D"), say_telephone, 7, u""},
      {Pattern("(?<!\\d)(\\d++/\\d++)"), say_fraction, 2, u"/"},
      {Pattern("(?<!\\d)(" + number + "%)"), say_percentage, 1, u"%"},
      {Pattern("(?<!\\d)(" + number + ")[多余几]?" + quantifier), say_number, 1, u""},
      {Pattern("(\\d{4,32})"), say_digits, 4, u""},
      {Pattern("(" + number + ")"), say_number, 1, u""},
  };
  return all;
}

std::vector<icu::UnicodeString> find_all(const Rule& rule, const icu::UnicodeString& text) {
  std::vector<icu::UnicodeString> found;
  const auto matcher = rule.pattern.matcher(text);
  UErrorCode status = U_ZERO_ERROR;
  bool more = matcher->find(status) != 0;
  while (more && U_SUCCESS(status)) {
    found.push_back(matcher->group(1, status));
    const std::int32_t end = matcher->end(status);
    if (!rule.needs_gap) {
      more = matcher->find(status) != 0;
    } else {
      more = end < text.length() && matcher->find(text.moveIndex32(end, 1), status) != 0;
    }
  }
  return found;
}

// Whether the rule could match at all: most texts have few digits, and a search takes its time.
bool may_match(const Rule& rule, const icu::UnicodeString& text) {
  const std::u16string_view signs = rule.signs;
  std::int32_t digits = 0;
  bool sign = signs.empty();
  for (std::int32_t at = 0; at < text.length(); at = text.moveIndex32(at, 1)) {
    const auto c = static_cast<char32_t>(text.char32At(at));
    if (is_digit(c)) ++digits;
    if (!sign) sign = signs.find(static_cast<char16_t>(c)) != signs.npos;
    if (sign && digits >= rule.digits) return true;
  }
  return false;
}

// The matches are collected first; then each replaces the first place where its text occurs, which
// may be another one.
void apply(const Rule& rule, icu::UnicodeString& text) {
  if (!may_match(rule, text)) return;
  for (const auto& match : find_all(rule, text)) {
    const std::int32_t at = text.indexOf(match);
    if (at >= 0) text.replace(at, match.length(), from_u32(rule.say(to_u32(match))));
  }
}

// P2P was read as P二P; put the figure back.
void restore_names(icu::UnicodeString& text) {
  static const Pattern pattern("(?<![a-zA-Z])([a-zA-Z]++)二([a-zA-Z]++)");
  if (text.indexOf(u'二') < 0) return;
  const icu::UnicodeString before = text;
  const auto matcher = pattern.matcher(before);
  UErrorCode status = U_ZERO_ERROR;
  while (matcher->find(status) != 0 && U_SUCCESS(status)) {
    const auto match = matcher->group(status);
    const std::int32_t at = text.indexOf(match);
    if (at < 0) continue;
    text.replace(at, match.length(), matcher->group(1, status) + u"2" + matcher->group(2, status));
  }
}

bool is_punctuation(char16_t c) {
  static const icu::UnicodeString marks(
      u"！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃《》「」『』【"
      u"】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿"
      u"–—‘’‛“”„‟…‧﹏·〈〉");
  if (c < 0x80) return c > 0x20 && c != 0x7F && u_isalnum(c) == 0;
  return marks.indexOf(c) >= 0;
}

}  // namespace

std::string expand_chinese_numbers(std::string_view utf8) {
  icu::UnicodeString text = u"^" + to_unicode(utf8) + u"$";
  text.findAndReplace(u"％", u"%");
  for (const Rule& rule : chinese_rules()) apply(rule, text);
  restore_names(text);
  std::int32_t first = 0;
  std::int32_t last = text.length();
  while (first < last && text[first] == u'^') ++first;
  while (last > first && text[last - 1] == u'$') --last;
  text.retainBetween(first, last);
  for (std::int32_t at = 0; at < text.length(); ++at) {
    if (is_punctuation(text[at])) text.setCharAt(at, u',');
  }
  return to_utf8(text);
}

}  // namespace myxtts
