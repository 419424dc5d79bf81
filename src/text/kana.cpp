// SPDX-License-Identifier: Apache-2.0
#include "text/kana.h"

#include <cstddef>
#include <unordered_map>

#include <unicode/utf8.h>

#include "text/unicode.h"

namespace myxtts {
namespace {

// One kana and its letters, per word, so that a reader of Japanese can check the table by eye.
constexpr std::string_view kTable =
    "あ a い i う u え e お o か ka き ki く ku け ke こ ko が ga ぎ gi ぐ gu げ ge ご go "
    "さ sa し shi す su せ se そ so ざ za じ ji ず zu ぜ ze ぞ zo た ta ち chi つ tsu て te と to "
    "だ da ぢ ji づ zu で de ど do な na に ni ぬ nu ね ne の no は ha ひ hi ふ fu へ he ほ ho "
    "ば ba び bi ぶ bu べ be ぼ bo ぱ pa ぴ pi ぷ pu ぺ pe ぽ po ま ma み mi む mu め me も mo "
    "や ya ゆ yu よ yo ら ra り ri る ru れ re ろ ro わ wa ゐ wi ゑ we を wo ん n ゔ vu "
    "ヷ va ヸ vi ヹ ve ヺ vo わ\u3099 va ゑ\u3099 ve を\u3099 vo "
    "ゃ ya ゅ yu ょ yo ぁ a ぃ i ぅ u ぇ e ぉ o ゎ wa ゕ ka ゖ ke "
    "しゃ sha しゅ shu しょ sho じゃ ja じゅ ju じょ jo ちゃ cha ちゅ chu ちょ cho "
    "ㇰ k ㇱ shi ㇲ su ㇳ to ㇴ nu ㇵ ha ㇶ hi ㇷ fu ㇸ he ㇹ ho ㇺ mu ㇻ ra ㇼ ri ㇽ ru ㇾ re ㇿ "
    "ro "
    "ㇷ\u309A p 𛅐 wi 𛅑 we 𛅒 wo 𛅤 wi 𛅥 we 𛅦 wo 𛅧 n "
    "ー - 。 . 、 , ， , ？ ? ！ ! 「 \" 」 \" 『 \" 』 \" ： : （ ( ） ) 《 ( 》 ) 【 [ 】 ] ・ /";

constexpr std::u32string_view kSmall = U"ゃゅょぁぃぅぇぉ";
constexpr std::u32string_view kVowels = U"あいうえお";
constexpr std::u32string_view kUnvoiced = U"かきくけこさしすせそたちつてとはひふへほ";
constexpr std::u32string_view kVoiced = U"がぎぐげござじずぜぞだぢづでどばびぶべぼ";

using Table = std::unordered_map<std::string, std::string_view>;

const Table& table() {
  static const Table entries = [] {
    Table read;
    std::string_view rest = kTable;
    const auto next = [&rest] {
      const auto end = rest.find(' ');
      const auto word = rest.substr(0, end);
      rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
      return word;
    };
    while (!rest.empty()) {
      const auto kana = next();
      read.emplace(std::string(kana), next());
    }
    // A mark of voicing that stands by itself has no sound.
    read.emplace("\u3099", "");
    read.emplace("\u309A", "");
    return read;
  }();
  return entries;
}

constexpr char32_t kNone = 0;

std::string text_of(char32_t first, char32_t second = kNone) {
  std::string text;
  append_code_point(text, first);
  if (second != kNone) append_code_point(text, second);
  return text;
}

// The letters of a kana or a pair; nothing for one that is not in the table.
std::optional<std::string_view> letters(const std::string& kana) {
  const auto found = table().find(kana);
  return found == table().end() ? std::nullopt : std::optional(found->second);
}

bool contains(std::u32string_view set, char32_t kana) {
  return kana != kNone && set.find(kana) != set.npos;
}

// Signs that repeat the kana before them.
std::string repetition(char32_t before, char32_t sign) {
  if (before == kNone) return "";
  if (sign == U'ゝ' || sign == U'ヽ') return text_of(before);
  const auto place = sign == U'ゞ' ? kUnvoiced.find(before) : kUnvoiced.npos;
  if (place == kUnvoiced.npos) return "";
  return std::string(letters(text_of(kVoiced[place])).value_or(""));
}

std::string doubling(char32_t after) {
  if (after == kNone) return std::string(kOpenDoubling);
  if (after == U'ち') return "t";
  if (contains(kVowels, after) || after == U'っ') return "-";
  return std::string(letters(text_of(after)).value_or("").substr(0, 1));
}

// One kana between its neighbours.
std::string romanise_one(char32_t before, char32_t kana, char32_t after) {
  if (contains(U"々〃ゝゞヽ", kana)) return repetition(before, kana);
  if (before != kNone) {
    if (const auto pair = letters(text_of(before, kana))) return std::string(*pair);
  }
  if (after != kNone && letters(text_of(kana, after))) return "";  // said with the next one
  const auto own = letters(text_of(kana));
  if (contains(kSmall, after)) {
    if (kana == U'っ' || !own) return "";
    return std::string(own->substr(0, own->empty() ? 0 : own->size() - 1)) +
           std::string(*letters(text_of(after)));
  }
  if (contains(kSmall, kana)) return "";
  if (kana == U'ー') {
    const auto previous = before == kNone ? std::nullopt : letters(text_of(before));
    return previous ? std::string(previous->substr(previous->empty() ? 0 : previous->size() - 1))
                    : "-";
  }
  if (kana == U'っ') return doubling(after);
  if (kana == U'ん' && (contains(kVowels, after) || contains(U"やゆよ", after))) return "n'";
  return std::string(own.value_or(""));
}

char32_t to_hiragana(char32_t kana) {
  const bool katakana = (kana >= 0x30A1 && kana <= 0x30F6) || kana == 0x30FD || kana == 0x30FE;
  return katakana ? kana - 0x60 : kana;
}

}  // namespace

std::string romanise_kana(std::string_view kana) {
  std::u32string word;
  for (std::size_t at = 0; at < kana.size();) {
    const char32_t letter = code_point_at(kana, at);
    at += static_cast<std::size_t>(U8_LENGTH(letter));
    word += to_hiragana(letter);
  }
  std::string result;
  for (std::size_t i = 0; i < word.size(); ++i) {
    result += romanise_one(i > 0 ? word[i - 1] : kNone, word[i],
                           i + 1 < word.size() ? word[i + 1] : kNone);
  }
  return result;
}

std::optional<std::string_view> latin_mark(std::string_view mark) {
  return letters(std::string(mark));
}

}  // namespace myxtts
