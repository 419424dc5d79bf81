// SPDX-License-Identifier: Apache-2.0
#include "text/sentences.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <unicode/uchar.h>

#include "text/language.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

// A piece of a text, in code points.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

constexpr std::u32string_view kPunctuation = U"…,:;!?¿؟¡()[]{}<>_#*&。？！，、；：～·।،۔؛٪";
constexpr std::u32string_view kQuotes = U"'\"”“`‘´’‚,„»«「」『』（）〔〕【】《》〈〉";
constexpr std::u32string_view kJoints = U"-–—~,:<>=/";

// Abbreviations whose full stop ends no sentence, one blank between two. Native speakers: please
// extend.
constexpr std::u32string_view kEnglishAbbreviations =
    U"Mr. Mrs. Ms. Dr. Prof. Rev. Gen. Gov. Sen. Rep. Adm. St. Mt. Jr. Co. co. Corp. Inc. Ltd. "
    U"Bros. "
    U"Messrs. Ph.D. a.m. p.m. e.g. E.g. i.e. I.e. vs. v.s. E.G. I.E. Jan. Feb. Mar. Apr. Jun. Jul. "
    U"Aug. "
    U"Sep. Sept. Oct. Nov. Dec. D.C. N.Y. N.J. N.C. S.C. N.H. N.M. N.D. Ak. Ala. Ariz. Ark. Calif. "
    U"Colo. "
    U"Conn. Del. Fla. Ga. Ia. Id. Ill. Ind. Kan. Kans. Ky. La. Mass. Md. Mich. Minn. Miss. Mo. "
    U"Mont. Neb. "
    U"Nebr. Nev. Okla. Ore. Pa. Tenn. Va. Wash. Wis. itd.";
constexpr std::u32string_view kSpanishAbbreviations =
    U"Sr. Sra. Srta. Dr. Dra. Prof. Profa. Ing. Lic. Gral. Gob. Av. Avda. Cía. Ud. Uds. Vd. Vds. "
    U"S.A. S.L. "
    U"S.R.L. EE.UU. J.C. P.D. a.C. d.C. etc. aprox. apdo. dpto. ej. p.ej. esq. fig. núm. pág. vol. "
    U"a.J.C. "
    U"d.J.C. Q.E.P.D. q.e.p.d. m.n. s.s.s. dna. 12m. a.m. p.m.";
constexpr std::u32string_view kArabicAbbreviations = U"أ. ب. ت. د.";

using Abbreviations = std::unordered_set<std::u32string>;

std::u32string ascii(const std::string& text) {
  return {text.begin(), text.end()};
}

Abbreviations make_abbreviations(std::u32string_view list) {
  Abbreviations result = {U"'s", U"ä.", U"ö.", U"ü."};
  for (char32_t letter = U'a'; letter <= U'z'; ++letter) result.insert({letter, U'.'});
  while (!list.empty()) {
    const auto end = std::min(list.find(U' '), list.size());
    result.emplace(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  if (result.contains(U"a.m.")) {
    for (int hour = 1; hour <= 12; ++hour) {
      for (const char* half : {"a.m.", "p.m."}) result.insert(ascii(std::to_string(hour) + half));
    }
  }
  return result;
}

const Abbreviations& abbreviations_of(Language language) {
  static const Abbreviations english = make_abbreviations(kEnglishAbbreviations);
  static const Abbreviations spanish = make_abbreviations(kSpanishAbbreviations);
  static const Abbreviations arabic = make_abbreviations(kArabicAbbreviations);
  static const Abbreviations letters = make_abbreviations(U"");
  switch (language.known()) {
    case Language::Es:
      return spanish;
    case Language::Ar:
      return arabic;
    case Language::Hi:
    case Language::Fa:
    case Language::Other:
      return letters;
    default:
      return english;
  }
}

bool is_one_of(char32_t c, std::u32string_view set) {
  return set.find(c) != set.npos;
}

// Whether `c` is of one of the general categories in `mask`.
bool is_kind(char32_t c, std::uint32_t mask) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & mask) != 0;
}

bool is_punctuation(char32_t c) {
  return is_kind(c, U_GC_P_MASK);
}

bool is_capital(char32_t c) {
  return is_kind(c, U_GC_LU_MASK | U_GC_LT_MASK);
}

// Signs of Devanagari, which are marks, count as letters; its full stops do not.
bool is_devanagari(char32_t c) {
  return c >= 0x0900 && c <= 0x097F && c != 0x0964 && c != 0x0965;
}

bool is_small_or_caseless(char32_t c) {
  return is_kind(c, U_GC_LL_MASK | U_GC_LO_MASK) || is_devanagari(c);
}

bool is_capital_or_caseless(char32_t c) {
  return is_kind(c, U_GC_LU_MASK | U_GC_LT_MASK | U_GC_LO_MASK) || is_devanagari(c);
}

bool is_caseless(char32_t c) {
  return is_kind(c, U_GC_LO_MASK);
}

// The words and marks of one chunk without blanks.
class Chunk {
 public:
  Chunk(std::u32string_view text, std::size_t begin, std::size_t end, Language language)
      : text_(text),
        begin_(begin),
        end_(end),
        arabic_(language == Language::Ar),
        abbreviations_(abbreviations_of(language)) {}

  void split(std::vector<TextSpan>& tokens) {
    std::vector<TextSpan> back;
    while (begin_ < end_ && !known(begin_, end_)) {
      const std::size_t front = front_length();
      if (front > 0) {
        tokens.push_back({begin_, begin_ + front});
        begin_ += front;
        if (begin_ == end_ || known(begin_, end_)) break;
      }
      const std::size_t rear = back_length();
      if (rear > 0) {
        back.push_back({end_ - rear, end_});
        end_ -= rear;
      }
      if (front == 0 && rear == 0) break;
    }
    split_middle(tokens);
    tokens.insert(tokens.end(), back.rbegin(), back.rend());
  }

 private:
  bool known(std::size_t begin, std::size_t end) const {
    return end - begin <= kLongestAbbreviation &&
           abbreviations_.contains(std::u32string(text_.substr(begin, end - begin)));
  }

  // Whether the dot at `dot` ends an abbreviation, alone or behind a joint.
  bool ends_abbreviation(std::size_t dot) const {
    std::size_t from = dot;
    while (from > begin_ && !is_one_of(text_[from - 1], kJoints) &&
           dot - from <= kLongestAbbreviation)
      --from;
    return known(from, dot + 1);
  }

  std::size_t dots_from(std::size_t at) const {
    std::size_t end = at;
    while (end < end_ && text_[end] == U'.') ++end;
    return end - at;
  }

  std::size_t front_length() const {
    const std::size_t dots = dots_from(begin_);
    if (dots >= 2) return dots;
    const char32_t first = text_[begin_];
    // As in 's-Hertogenbosch, where a lone quotation mark would end the sentence before.
    if (text_.substr(begin_, end_ - begin_).starts_with(U"'s-")) return 2;
    const bool number_follows = begin_ + 1 < end_ && is_digit(text_[begin_ + 1]);
    if (first == U'+') return number_follows ? 0 : 1;
    return is_one_of(first, U"§%=—–") || is_one_of(first, kPunctuation) ||
                   is_one_of(first, kQuotes) || is_kind(first, U_GC_SC_MASK | U_GC_SO_MASK)
               ? 1
               : 0;
  }

  std::size_t back_length() const {
    const char32_t last = text_[end_ - 1];
    if (last == U'.') return dot_length();
    const bool price =
        is_kind(last, U_GC_SC_MASK) && end_ - begin_ > 1 && is_digit(text_[end_ - 2]);
    if (price || is_kind(last, U_GC_SO_MASK) || is_one_of(last, kPunctuation) ||
        is_one_of(last, kQuotes) || is_one_of(last, U"—–"))
      return 1;
    const bool possessive = end_ - begin_ > 2 && (last == U's' || last == U'S') &&
                            (text_[end_ - 2] == U'\'' || text_[end_ - 2] == U'’');
    return possessive ? 2 : 0;
  }

  // How many of the dots at the end are a mark of their own.
  std::size_t dot_length() const {
    std::size_t dots = 1;
    while (dots < end_ - begin_ && text_[end_ - 1 - dots] == U'.') ++dots;
    if (dots >= 2) return dots;
    const std::size_t dot = end_ - 1;
    if (end_ - begin_ < 2 || ends_abbreviation(dot)) return 0;
    // A unit of one letter behind its number, as in 5m., is an abbreviation.
    const bool unit = dot >= begin_ + 2 && is_one_of(text_[dot - 1], U"gmt") &&
                      text_[dot - 2] >= U'0' && text_[dot - 2] <= U'9';
    return !unit && ends_a_word(dot) ? 1 : 0;
  }

  bool ends_a_word(std::size_t dot) const {
    const char32_t before = text_[dot - 1];
    const bool two_before = dot >= begin_ + 2;
    const auto capital = [this](char32_t c) {
      return is_capital(c) || (arabic_ && is_caseless(c));
    };
    if (two_before && capital(before) && capital(text_[dot - 2])) return true;
    if (two_before && text_[dot - 2] == U'°' && is_one_of(before, U"CcFfKk")) return true;
    if (arabic_) return false;
    return is_digit(before) || is_small_or_caseless(before) || is_one_of(before, U"%²-+") ||
           is_one_of(before, kPunctuation) || is_one_of(before, kQuotes);
  }

  // A name on the net, such as example.org, whose dots end nothing: labels, then letters in lower
  // case.
  bool looks_like_address() const {
    std::size_t label = 0;  // letters since the last dot
    std::size_t labels = 1;
    bool lower = true;
    for (std::size_t at = begin_; at < end_; ++at) {
      const char32_t c = text_[at];
      if (c == U'.') {
        if (label == 0) return false;
        label = 0;
        ++labels;
        lower = true;
      } else if (is_word(c) || is_small_or_caseless(c) || c == U'-') {
        ++label;
        lower = lower && is_small_or_caseless(c);
      } else {
        return false;
      }
    }
    return labels > 1 && label >= 2 && lower;
  }

  // Whether the dot at `dot` stands between the end of one word and the start of the next, or at a
  // quotation mark.
  bool ends_inner_sentence(std::size_t dot) const {
    if (dot == begin_ || dot + 1 == end_ || ends_abbreviation(dot)) return false;
    const char32_t before = text_[dot - 1];
    const char32_t after = text_[dot + 1];
    if (is_digit(before) && is_digit(after)) return false;
    return (is_small_or_caseless(before) || is_one_of(before, kQuotes)) &&
           (is_capital_or_caseless(after) || is_one_of(after, kQuotes));
  }

  // What is left after the front and the back: a word, but for dots inside it that end a sentence.
  void split_middle(std::vector<TextSpan>& tokens) const {
    if (begin_ == end_) return;
    std::size_t from = begin_;
    const auto cut = [&](std::size_t at, std::size_t length) {
      if (at > from) tokens.push_back({from, at});
      tokens.push_back({at, at + length});
      from = at + length;
    };
    const bool whole = known(begin_, end_) || looks_like_address();
    for (std::size_t at = begin_; at < end_ && !whole;) {
      const std::size_t dots = dots_from(at);
      if (dots >= 2) {
        cut(at, dots);
        at += dots;
        continue;
      }
      const bool sign = text_[at] == U'…' || is_kind(text_[at], U_GC_SO_MASK);
      if (sign || (dots == 1 && ends_inner_sentence(at))) cut(at, 1);
      ++at;
    }
    if (from < end_) tokens.push_back({from, end_});
  }

  static constexpr std::size_t kLongestAbbreviation = 8;

  std::u32string_view text_;
  std::size_t begin_;
  std::size_t end_;
  bool arabic_;
  const Abbreviations& abbreviations_;
};

void split_characters(std::size_t begin, std::size_t end, std::vector<TextSpan>& tokens) {
  for (std::size_t at = begin; at < end; ++at) tokens.push_back({at, at + 1});
}

// Japanese is written without blanks: marks stand alone, everything between them is one word here.
void split_at_marks(std::u32string_view text, std::size_t begin, std::size_t end,
                    std::vector<TextSpan>& tokens) {
  std::size_t from = begin;
  for (std::size_t at = begin; at < end; ++at) {
    const bool decimal = text[at] == U'.' && at > begin && at + 1 < end && is_digit(text[at - 1]) &&
                         is_digit(text[at + 1]);
    if (!is_punctuation(text[at]) || decimal) continue;
    if (at > from) tokens.push_back({from, at});
    tokens.push_back({at, at + 1});
    from = at + 1;
  }
  if (from < end) tokens.push_back({from, end});
}

// Words, marks and odd blanks of a text in order, so that a full stop that ends a sentence stands
// alone and one that belongs to a number or an abbreviation does not. The single space after a word
// is in no span; any other blank is one of its own.
std::vector<TextSpan> word_tokens(std::u32string_view text, Language language) {
  std::vector<TextSpan> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    const bool blank = is_space(text[at]);
    while (end < text.size() && is_space(text[end]) == blank) ++end;
    if (blank) {
      tokens.push_back({at, end});
    } else if (language == Language::Zh) {
      split_characters(at, end, tokens);
    } else if (language == Language::Ja) {
      split_at_marks(text, at, end, tokens);
    } else {
      Chunk(text, at, end, language).split(tokens);
    }
    at = end;
    if (!blank && at < text.size() && text[at] == U' ') ++at;  // belongs to the word before it
  }
  return tokens;
}

constexpr std::u32string_view kSentenceEnds = U"!.?։؟۔।॥‼‽⁇⁈⁉﹒﹖﹗！．？｡。";

bool ends_sentence(std::u32string_view token) {
  return token.size() == 1 && kSentenceEnds.find(token[0]) != kSentenceEnds.npos;
}

bool is_all_punctuation(std::u32string_view token) {
  return std::all_of(token.begin(), token.end(), [](char32_t c) {
    return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_P_MASK) != 0;
  });
}

// A sentence begins with the first word after the mark that ended the one before.
std::vector<std::u32string_view> sentences(std::u32string_view text, Language language) {
  std::vector<std::u32string_view> result;
  const auto tokens = word_tokens(text, language);
  std::size_t begin = 0;
  std::size_t end = 0;
  bool ended = false;
  for (const TextSpan& token : tokens) {
    const auto word = text.substr(token.begin, token.end - token.begin);
    if (ends_sentence(word)) {
      ended = true;
    } else if (ended && !is_all_punctuation(word)) {
      result.push_back(text.substr(begin, end - begin));
      begin = token.begin;
      ended = false;
    }
    end = token.end;
  }
  if (end > begin) result.push_back(text.substr(begin, end - begin));
  return result;
}

bool is_plain_blank(char32_t c) {
  return c == U' ' || (c >= U'\t' && c <= U'\r');
}

bool is_blank(std::u32string_view text) {
  return std::all_of(text.begin(), text.end(), is_space);
}

// Words and runs of blanks in turn; every blank as a space.
std::vector<std::u32string> words_and_blanks(std::u32string_view text) {
  std::vector<std::u32string> result;
  bool blank = false;
  for (const char32_t c : text) {
    if (result.empty() || is_plain_blank(c) != blank) {
      result.emplace_back();
      blank = is_plain_blank(c);
    }
    result.back() += blank ? U' ' : c;
  }
  return result;
}

// Lines of at most `width` code points, filled with whole words; a longer word is cut where the
// line is full.
std::vector<std::u32string> wrap(std::u32string_view text, std::size_t width) {
  auto chunks = words_and_blanks(text);
  std::vector<std::u32string> lines;
  std::size_t next = 0;
  while (next < chunks.size()) {
    if (!lines.empty() && is_blank(chunks[next])) {
      if (++next == chunks.size()) break;
    }
    std::vector<std::u32string> line;
    std::size_t length = 0;
    const auto add = [&](std::u32string piece) {
      length += piece.size();
      line.push_back(std::move(piece));
    };
    while (next < chunks.size() && length + chunks[next].size() <= width) add(chunks[next++]);
    if (next < chunks.size() && chunks[next].size() > width) {
      const std::size_t room = width - length;
      add(chunks[next].substr(0, room));
      chunks[next].erase(0, room);
    }
    if (!line.empty() && is_blank(line.back())) line.pop_back();
    if (line.empty()) continue;
    lines.emplace_back();
    for (const auto& piece : line) lines.back() += piece;
  }
  return lines;
}

std::u32string decode(std::string_view text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    at += static_cast<std::size_t>(U8_LENGTH(c));
    result += c;
  }
  return result;
}

std::string encode(std::u32string_view text) {
  std::string result;
  for (const char32_t c : text) append_code_point(result, c);
  return result;
}

}  // namespace

std::vector<std::string> split_text(std::string_view text, Language language) {
  const std::size_t limit = length_limit(language);
  const std::u32string letters = decode(text);
  if (letters.size() < limit) return {std::string(strip_left(text))};

  std::vector<std::u32string> pieces(1);
  for (const auto sentence : sentences(letters, language)) {
    std::u32string& last = pieces.back();
    if (last.size() + sentence.size() <= limit) {
      last.append(U" ").append(sentence);
      last.erase(0, static_cast<std::size_t>(std::find_if_not(last.begin(), last.end(), is_space) -
                                             last.begin()));
    } else if (sentence.size() > limit) {
      for (auto& line : wrap(sentence, limit)) pieces.push_back(std::move(line));
    } else {
      pieces.emplace_back(sentence);
    }
  }
  if (pieces.size() > 1 && pieces.front().empty()) pieces.erase(pieces.begin());
  std::vector<std::string> result;
  for (const auto& piece : pieces) result.push_back(encode(piece));
  return result;
}

}  // namespace myxtts
