// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <mecab.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "base/error.h"
#include "base/log.h"
#include "text/language.h"
#include "text/transliteration.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

// What ends a word whose last kana, っ, doubles the first letter of the next word.
inline constexpr std::string_view kOpenDoubling = "っ";

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

// One word of kana, katakana or hiragana, in Latin letters (Hepburn): きょう becomes kyou. Kana
// that is written in no word is left out. `kana` is valid UTF-8.
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

// The mark of a text in Japanese as a Latin one: 。 is a full stop. Nothing for any other.
std::optional<std::string_view> latin_mark(std::string_view mark) {
  return letters(std::string(mark));
}

// Character types of UniDic's char.def.
constexpr unsigned char kLatin = 5;
constexpr unsigned char kHiragana = 6;
constexpr unsigned char kKatakana = 7;

// One word as the dictionary knows it; fields it does not have are empty.
struct Word {
  std::string surface;
  std::string kind;     // 動詞, 助詞, ...
  std::string subkind;  // 接続助詞, ...
  std::string lemma;
  std::string pronunciation;
  std::string kana;
  unsigned char letter_type = 0;
  bool unknown = false;
  bool after_blank = false;
};

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_number(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    at += static_cast<std::size_t>(U8_LENGTH(c));
    const int type = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE);
    if (type != U_NT_DECIMAL && type != U_NT_DIGIT) return false;
  }
  return !text.empty();
}

// Comma-separated values, some in quotes, which stay.
std::vector<std::string_view> split_features(std::string_view features) {
  std::vector<std::string_view> fields;
  fields.reserve(32);
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < features.size(); ++at) {
    if (features[at] == '"') quoted = !quoted;
    if (features[at] != ',' || quoted) continue;
    fields.push_back(features.substr(begin, at - begin));
    begin = at + 1;
  }
  fields.push_back(features.substr(begin));
  return fields;
}

Word read_word(const MeCab::Node& node) {
  const auto fields = split_features(node.feature);
  const auto field = [&fields](std::size_t index) {
    std::string text(index < fields.size() ? fields[index] : "");
    std::erase(text, '"');
    return text == "*" ? std::string() : text;
  };
  const bool version_3 = fields.size() >= 29;
  return {.surface = std::string(node.surface, node.length),
          .kind = field(0),
          .subkind = field(1),
          .lemma = field(7),
          .pronunciation = field(9),
          .kana = field(version_3 ? 20 : 17),
          .letter_type = node.char_type,
          .unknown = node.stat == MECAB_UNK_NODE,
          .after_blank = node.rlength > node.length};
}

// UniDic writes the spelling of a foreign word behind its lemma: カツ has カツ-cutlet.
std::optional<std::string> foreign_spelling(const Word& word) {
  const auto hyphen = word.lemma.find('-');
  if (hyphen == std::string::npos || word.surface.find('-') != std::string::npos)
    return std::nullopt;
  const std::string spelling = word.lemma.substr(hyphen + 1);
  return is_ascii(spelling) ? std::optional(spelling) : std::nullopt;
}

std::optional<std::string_view> usual_spelling(std::string_view surface) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"ホッピー", "hoppy"}, {"東京", "tokyo"}, {"大阪", "osaka"},   {"京都", "kyoto"},
      {"柔道", "judo"},      {"弁当", "bento"}, {"ヒルズ", "hills"}, {"カービィ", "kirby"}};
  for (const auto& [name, spelling] : kNames) {
    if (surface == name) return spelling;
  }
  return std::nullopt;
}

std::string read_unknown(const Word& word) {
  if (word.letter_type == kHiragana || word.letter_type == kKatakana)
    return romanise_kana(word.surface);
  return std::string(count_code_points(word.surface), '?');
}

std::string read_aloud(const Word& word) {
  if (const auto name = usual_spelling(word.surface)) return std::string(*name);
  if (is_number(word.surface) || is_ascii(word.surface)) return word.surface;
  if (word.surface == "€" || word.surface == "¥") return "";
  if (word.unknown) return read_unknown(word);
  if (word.kind == "補助記号") return std::string(latin_mark(word.surface).value_or(""));
  if (word.kind == "助詞" && word.pronunciation == "ワ") return "wa";
  if (word.kind == "助詞" && word.pronunciation == "エ") return "e";
  if (const auto foreign = foreign_spelling(word)) return *foreign;
  return word.kana.empty() ? word.surface : romanise_kana(word.kana);
}

struct Piece {
  std::string letters;
  bool space = false;  // follows
};

// Whether the word is written apart from the one after it.
bool stands_apart(const Word& word, const Word* next, const std::string& letters) {
  if (word.kind == "接頭辞") return false;
  if (foreign_spelling(word) && letters.ends_with('-')) return false;
  if (next == nullptr) return true;
  if (next->kind == "補助記号" || next->kind == "接尾辞" || next->surface == ",") return false;
  if (!next->subkind.empty() &&
      std::string_view("接続助詞").find(next->subkind) != std::string_view::npos) {
    return false;
  }
  if (is_number(word.surface) && is_number(next->surface)) return false;
  const bool inflects = word.kind == "動詞" || word.kind == "助動詞" || word.kind == "形容詞";
  return !(inflects && next->kind == "助動詞" && next->surface != "です");
}

std::vector<Piece> spell(const std::vector<Word>& words) {
  std::vector<Piece> pieces;
  pieces.reserve(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    const Word* next = i + 1 < words.size() ? &words[i + 1] : nullptr;
    Piece* before = pieces.empty() ? nullptr : &pieces.back();
    const bool apostrophe = word.surface == "'" && !word.after_blank && next != nullptr &&
                            next->letter_type == kLatin && !next->after_blank;
    if (apostrophe) {
      if (before != nullptr) before->space = false;
      pieces.push_back({"'", false});
      continue;
    }
    const std::string letters = read_aloud(word);
    if (before != nullptr && !letters.empty() && before->letters.ends_with(kOpenDoubling)) {
      before->letters.resize(before->letters.size() - kOpenDoubling.size());
      append_code_point(before->letters, code_point_at(letters, 0));
    }
    const bool opens = word.surface == "「" || word.surface == "『" || letters.empty() ||
                       letters == "(" || letters == "[";
    if (opens) {
      if (before != nullptr) before->space = true;
      pieces.push_back({letters, false});
    } else if (letters == "/") {
      pieces.push_back({letters, false});
    } else if (next != nullptr && is_ascii(word.surface) && is_ascii(next->surface)) {
      pieces.push_back({word.surface, next->after_blank});
    } else {
      pieces.push_back({letters, stands_apart(word, next, letters)});
    }
  }
  return pieces;
}

// Compatibility forms resolved; typographic quotes as typed ones.
std::string normalise(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const auto* nfkc = icu::Normalizer2::getNFKCInstance(status);
  auto normal = nfkc->normalize(to_unicode(text), status);
  MYXTTS_CHECK(U_SUCCESS(status), "ICU could not normalise a text");
  normal.findAndReplace(u"‘", u"`").findAndReplace(u"’", u"'").findAndReplace(u"”", u"\"");
  return to_utf8(normal);
}

std::string join(const std::vector<Piece>& pieces) {
  std::string result;
  for (const Piece& piece : pieces) {
    result += piece.letters;
    if (piece.space) result += ' ';
  }
  for (auto at = result.find(kOpenDoubling); at != result.npos;
       at = result.find(kOpenDoubling, at)) {
    result.erase(at, kOpenDoubling.size());
  }
  return result;
}

}  // namespace

const JapaneseReader& JapaneseReader::shared() {
  static const JapaneseReader reader = [] {
    const auto folder = find_text_data("unidic");
    if (!folder) {
      throw DataError(
          "Japanese needs the dictionary unidic-lite, and it is not installed. Run tools/setup to "
          "fetch it, "
          "or set MYXTTS_TEXT_DATA to the folder that holds unidic/.");
    }
    return JapaneseReader(*folder);
  }();
  return reader;
}

JapaneseReader::JapaneseReader(const std::filesystem::path& dictionary) {
  const std::string folder = dictionary.string();
  std::vector<std::string> arguments = {"myxtts", "-C", "-r", "/dev/null", "-d", folder};
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  model_.reset(MeCab::createModel(static_cast<int>(pointers.size()), pointers.data()));
  if (model_ != nullptr) tagger_.reset(model_->createTagger());
  if (tagger_ == nullptr) {
    throw DataError(fmt::format(
        "{} holds no dictionary that MeCab can read. Run tools/setup to fetch unidic-lite again.",
        folder));
  }
}

JapaneseReader::~JapaneseReader() = default;

std::string JapaneseReader::romanise(std::string_view text) const {
  const std::string normal = normalise(text);
  const std::unique_ptr<MeCab::Lattice> lattice(model_->createLattice());
  lattice->set_sentence(normal.data(), normal.size());
  MYXTTS_CHECK(tagger_->parse(lattice.get()), "MeCab could not read a text: {}", lattice->what());
  std::vector<Word> words;
  for (const auto* node = lattice->bos_node()->next; node != nullptr && node->next != nullptr;
       node = node->next) {
    words.push_back(read_word(*node));
  }
  return to_lower(strip_spaces(join(spell(words))));
}

}  // namespace myxtts
