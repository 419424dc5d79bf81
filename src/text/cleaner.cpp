// SPDX-License-Identifier: Apache-2.0
#include "text/cleaner.h"

#include <array>
#include <string_view>

#include <unicode/utf8.h>

#include "base/error.h"
#include "text/numbers/numbers.h"
#include "text/persian.h"
#include "text/transliteration.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

// The words for & @ % # $ £ °, in this order. The euro sign has none.
using Words = std::array<std::string_view, 7>;
constexpr std::array<char32_t, 7> kSigns{U'&', U'@', U'%', U'#', U'$', U'£', U'°'};

const Words& words_of(Language language) {
  static constexpr std::pair<Language, Words> kWords[] = {
      {Language::En, {"and", "at", "percent", "hash", "dollar", "pound", "degree"}},
      {Language::Es, {"y", "arroba", "por ciento", "numeral", "dolar", "libra", "grados"}},
      {Language::Fr, {"et", "arobase", "pour cent", "dièse", "dollar", "livre", "degrés"}},
      {Language::De, {"und", "at", "prozent", "raute", "dollar", "pfund", "grad"}},
      {Language::Pt, {"e", "arroba", "por cento", "cardinal", "dólar", "libra", "graus"}},
      {Language::It,
       {"e", "chiocciola", "per cento", "cancelletto", "dollaro", "sterlina", "gradi"}},
      {Language::Pl, {"i", "małpa", "procent", "krzyżyk", "dolar", "funt", "stopnie"}},
      {Language::Cs, {"a", "na", "procento", "křížek", "dolar", "libra", "stupně"}},
      {Language::Ru, {"и", "собака", "процентов", "номер", "доллар", "фунт", "градус"}},
      {Language::Nl, {"en", "bij", "procent", "hekje", "dollar", "pond", "graden"}},
      {Language::Tr, {"ve", "at", "yüzde", "diyez", "dolar", "sterlin", "derece"}},
      {Language::Hu, {"és", "kukac", "százalék", "kettőskereszt", "dollár", "font", "fok"}},
      {Language::Ar, {"و", "على", "في المئة", "رقم", "دولار", "جنيه", "درجة"}},
      {Language::Ko, {"그리고", "에", "퍼센트", "번호", "달러", "파운드", "도"}},
      {Language::Hi, {"और", "ऐट दी रेट", "प्रतिशत", "हैश", "डॉलर", "पाउंड", "डिग्री"}},
      {Language::Zh, {"和", "在", "百分之", "号", "美元", "英镑", "度"}}};
  const Words* const found = find_language(kWords, language);
  MYXTTS_CHECK(found != nullptr, "{} has no table of symbols", language_code(language));
  return *found;
}

// The word for `c`, empty if it is no sign.
std::string_view word_for(char32_t c, const Words& words) {
  if (c > U'°' || (c >= 'A' && c <= 'z') || c == ' ') return {};
  for (std::size_t index = 0; index < kSigns.size(); ++index) {
    if (kSigns[index] == c) return words[index];
  }
  return {};
}

}  // namespace

std::string expand_symbols(const std::string& text, Language language) {
  const Words& words = words_of(language);
  std::string out;
  out.reserve(text.size() + 16);
  std::size_t start =
      0;  // of the characters not yet copied, which have no blank or sign among them
  const auto put = [&](std::string_view piece) {
    if (piece.empty()) return;
    if (!out.empty()) out += ' ';
    out += piece;
  };
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    const auto length = static_cast<std::size_t>(U8_LENGTH(c));
    const std::string_view word = word_for(c, words);
    if (is_space(c) || !word.empty()) {
      put(std::string_view(text).substr(start, at - start));
      put(word);
      start = at + length;
    }
    at += length;
  }
  put(std::string_view(text).substr(start));
  return out;
}

namespace {

// Lower-casing would make i and a dot above of the first.
void lower_turkish_letters(std::string& text) {
  replace_all(text, "İ", "i");
  replace_all(text, "Ö", "ö");
  replace_all(text, "Ü", "ü");
}

// Marks that stand for the same thing, each as the one on every keyboard.
constexpr std::pair<std::string_view, std::string_view> kPlainMarks[] = {
    {"\"", ""}, {"“", ""},  {"”", ""},  {"„", ""},  {"«", ""},   {"»", ""},
    {"‘", "'"}, {"’", "'"}, {"–", "-"}, {"—", "-"}, {"…", "..."}};

std::string clean_plainly(const std::string& text) {
  std::string clean = to_lower(composed(text));
  for (const auto& [mark, plain] : kPlainMarks) replace_all(clean, mark, plain);
  return collapse_spaces(clean);
}

}  // namespace

std::string clean_text(std::string_view utf8, Language language) {
  std::string text = repair_utf8(utf8);
  if (language.is_other()) return clean_plainly(text);
  if (language == Language::Ja) return JapaneseReader::shared().romanise(text);
  if (language == Language::Fa) return clean_persian(text);
  replace_all(text, "\"", "");
  if (language == Language::Tr) lower_turkish_letters(text);
  text = to_lower(text);
  text = language == Language::Zh ? expand_chinese_numbers(text)
                                  : expand_numbers(std::move(text), language);
  text = expand_abbreviations(std::move(text), language);
  text = expand_symbols(text, language);
  if (language == Language::Zh) return Pinyin::shared().transliterate(text);
  if (language == Language::Ko) return romanise_korean(text);
  return text;
}

}  // namespace myxtts
