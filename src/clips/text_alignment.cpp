// SPDX-License-Identifier: Apache-2.0
#include "clips/text_alignment.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::size_t kPassage = 4;     // words of the text that are worth telling of
constexpr double kOfAnotherText = 0.2;  // share of heard words found below which it is that
constexpr std::int64_t kFewWords = 20;  // from which nothing can be told
// A word that is heard otherwise where it stands in the text is mostly that word all the same.
constexpr double kWeightOfMisheard = 1.0 / 3;
constexpr std::size_t kTriple = 3;  // words that tell where a recording stands
constexpr std::u32string_view kOpeningSigns = U"\"'“‘«‹„‚¿¡([";
constexpr std::u32string_view kNotSpoken = U"_*";  // emphasis, as plain texts mark it

std::size_t width_of(char32_t c) {
  return static_cast<std::size_t>(U8_LENGTH(static_cast<UChar32>(c)));
}

double middle_of(const TimedWord& word) {
  return (word.begin + word.end) / 2;
}

// Words `begin` to `end`, exclusive; none where they end before they begin.
std::span<const SpokenWord> part_of(std::span<const SpokenWord> words, std::size_t begin,
                                    std::size_t end) {
  return begin < end ? words.subspan(begin, end - begin) : std::span<const SpokenWord>();
}

using SpokenSpan = std::span<const SpokenWord>;

// The letters of a clip, and those on which its text and the recogniser do not agree.
class Agreement {
 public:
  // Heard words `first` to `second`, exclusive, with those of the text that the matches inside say.
  void compare(SpokenSpan text, SpokenSpan heard, std::pair<std::size_t, std::size_t> range,
               std::span<const WordMatch> inside) {
    std::size_t next_text = inside.front().first;
    std::size_t next_heard = range.first;
    for (const WordMatch& match : inside) {
      const auto unread = part_of(text, next_text, match.first);
      if (unread.size() < kPassage) {
        lose(unread, "The text has words inside that were not heard.");
      } else {
        doubt_ = "A passage of the text was not read inside it.";
      }
      lose(part_of(heard, next_heard, match.second),
           next_heard == range.first ? "It begins with words that are not in the text."
                                     : "Words are heard inside that are not in the text.");
      misheard_ += match.errors;
      letters_ += match.letters;
      next_text = match.first + match.first_count;
      next_heard = match.second + match.second_count;
    }
    lose(part_of(heard, next_heard, range.second), "It ends with words that are not in the text.");
  }

  // Words of the text beside it that nobody heard: they may be said in it. `inside` is of `all`.
  void lose_beside(SpokenSpan text, std::span<const WordMatch> all,
                   std::span<const WordMatch> inside) {
    const auto first = static_cast<std::size_t>(inside.data() - all.data());
    for (const std::size_t behind : {first, first + inside.size()}) {
      if (behind == 0 || behind == all.size()) continue;
      const WordMatch& before = all[behind - 1];
      const auto gap = part_of(text, before.first + before.first_count, all[behind].first);
      if (gap.size() < kPassage) lose(gap, "Words of the text at its edge were not heard.");
    }
  }

  double confidence() const {
    const double doubtful =
        static_cast<double>(lost_) + kWeightOfMisheard * static_cast<double>(misheard_);
    return letters_ == 0 ? 0 : 1 - doubtful / static_cast<double>(letters_);
  }
  const std::string& doubt() const { return doubt_; }

 private:
  void lose(SpokenSpan words, const char* why) {
    if (words.empty()) return;
    std::int64_t letters = 0;
    for (const SpokenWord& word : words) letters += word.letters;
    lost_ += letters;
    letters_ += letters;
    doubt_ = why;
  }

  std::int64_t letters_ = 0;
  std::int64_t lost_ = 0;  // of words that one of the two lacks
  std::int64_t misheard_ = 0;
  std::string doubt_;
};

}  // namespace

TextAlignment::TextAlignment(std::string text, std::vector<HeardWords> recordings,
                             std::string_view language, const std::string& subject)
    : text_(std::move(text)), recordings_(std::move(recordings)) {
  SpokenWords spoken(parse_language(language));
  spoken.add_words(text_, 0, words_);
  if (words_.empty()) throw DataError(fmt::format("{} holds no words.", subject));
  for (const HeardWords& recording : recordings_) {
    std::vector<SpokenWord>& heard = heard_.emplace_back();
    for (std::size_t i = 0; i < recording.size(); ++i) {
      spoken.add_words(recording[i].text, i, heard);
    }
  }

  std::vector<std::int32_t> first;
  for (const SpokenWord& word : words_) first.push_back(word.number);
  const auto order = reading_order();
  std::vector<std::int32_t> second;
  std::vector<std::pair<std::size_t, std::size_t>> origin;  // recording, its word
  for (const std::size_t recording : order) {
    for (std::size_t i = 0; i < heard_[recording].size(); ++i) {
      second.push_back(heard_[recording][i].number);
      origin.emplace_back(recording, i);
    }
  }
  matches_.resize(recordings_.size());
  for (WordMatch match : match_words(first, second, spoken)) {
    const auto [recording, word] = origin[match.second];
    if (origin[match.second + match.second_count - 1].first != recording) continue;
    match.second = word;
    matches_[recording].push_back(match);
  }
  require_same_text(subject);
}

// As given, but where most of the rare words of the recordings stand in another order in the text.
std::vector<std::size_t> TextAlignment::reading_order() const {
  constexpr std::size_t kTwice = static_cast<std::size_t>(-1);
  const auto key = [](const std::vector<SpokenWord>& words, std::size_t at) {
    std::u32string triple;
    for (std::size_t i = 0; i < kTriple; ++i) {
      triple += static_cast<char32_t>(words[at + i].number);
    }
    return triple;
  };
  std::unordered_map<std::u32string, std::size_t> lone;
  for (std::size_t at = 0; at + kTriple <= words_.size(); ++at) {
    const auto [found, is_new] = lone.emplace(key(words_, at), at);
    if (!is_new) found->second = kTwice;
  }
  std::vector<std::pair<std::size_t, std::size_t>> places;  // in the text; the recording
  std::size_t last = 0;
  for (std::size_t recording = 0; recording < heard_.size(); ++recording) {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at + kTriple <= heard_[recording].size(); ++at) {
      const auto place = lone.find(key(heard_[recording], at));
      if (place != lone.end() && place->second != kTwice) found.push_back(place->second);
    }
    if (!found.empty()) {
      const auto half = found.begin() + std::ssize(found) / 2;
      std::nth_element(found.begin(), half, found.end());
      last = *half;
    }
    places.emplace_back(last, recording);
  }
  std::ranges::stable_sort(places, {}, &std::pair<std::size_t, std::size_t>::first);
  std::vector<std::size_t> order;
  for (const auto& place : places) order.push_back(place.second);
  return order;
}

void TextAlignment::require_same_text(const std::string& subject) const {
  std::int64_t heard = 0;
  for (const auto& words : heard_) heard += std::ssize(words);
  if (heard < kFewWords || found_share() >= kOfAnotherText) return;
  std::int64_t found = 0;
  for (const auto& matches : matches_) {
    for (const WordMatch& match : matches) found += static_cast<std::int64_t>(match.second_count);
  }
  throw DataError(fmt::format(
      "{} is not the text of {}: of {} heard, {} stand in it in this order. Give the text that is "
      "read, in the language that is spoken, or none: then it is transcribed.",
      subject, recordings_.size() == 1 ? "this recording" : "these recordings",
      counted(heard, "word"), human_count(found)));
}

std::vector<std::string> TextAlignment::unread() const {
  std::vector<bool> is_read(words_.size());
  for (const auto& matches : matches_) {
    for (const WordMatch& match : matches) {
      for (std::size_t i = 0; i < match.first_count; ++i) is_read[match.first + i] = true;
    }
  }
  std::vector<std::string> passages;
  for (std::size_t begin = 0; begin < words_.size();) {
    std::size_t end = begin;
    while (end < words_.size() && !is_read[end]) ++end;
    if (end - begin >= kPassage) {
      const std::size_t first = words_[begin].begin;
      passages.push_back(text_.substr(first, words_[end - 1].end - first));
    }
    begin = end + 1;
  }
  return passages;
}

double TextAlignment::found_share(std::size_t recording) const {
  std::size_t found = 0;
  for (const WordMatch& match : matches_[recording]) found += match.second_count;
  const std::size_t all = heard_[recording].size();
  return all == 0 ? 0 : static_cast<double>(found) / static_cast<double>(all);
}

double TextAlignment::found_share() const {
  double found = 0;
  double all = 0;
  for (std::size_t i = 0; i < heard_.size(); ++i) {
    const auto words = static_cast<double>(heard_[i].size());
    found += found_share(i) * words;
    all += words;
  }
  return all == 0 ? 0 : found / all;
}

// Words `first` to `last` with the signs at them, in one line.
std::string TextAlignment::spelled(std::size_t first, std::size_t last) const {
  std::size_t begin = words_[first].begin;
  const std::size_t border = first == 0 ? 0 : words_[first - 1].end;
  while (begin > border) {
    const char32_t c = code_point_before(text_, begin);
    if (kOpeningSigns.find(c) == std::u32string_view::npos) break;
    begin -= width_of(c);
  }
  std::size_t end = words_[last].end;
  const std::size_t next = last + 1 < words_.size() ? words_[last + 1].begin : text_.size();
  while (end < next) {
    const char32_t c = code_point_at(text_, end);
    // What opens the next word is not of this one; a closing sign may look the same.
    const bool opens =
        kOpeningSigns.find(c) != std::u32string_view::npos && end + width_of(c) == next;
    if (is_space(c) || (opens && c != U'\'' && c != U'"')) break;
    end += width_of(c);
  }
  std::string plain;
  for (std::size_t at = begin; at < end;) {
    const char32_t c = code_point_at(text_, at);
    if (kNotSpoken.find(c) == std::u32string_view::npos) append_code_point(plain, c);
    at += width_of(c);
  }
  return collapse_spaces(plain);
}

// In one piece where the text goes on without a gap; a passage between two pieces was not read.
std::string TextAlignment::spelled(std::span<const WordMatch> matches) const {
  std::string text;
  std::size_t piece = matches.front().first;
  std::size_t next = piece;
  for (const WordMatch& match : matches) {
    if (match.first - next >= kPassage) {
      text += spelled(piece, next - 1) + " ";
      piece = match.first;
    }
    next = match.first + match.first_count;
  }
  return text + spelled(piece, next - 1);
}

// The words whose middle lies between two times, from the first to behind the last.
std::pair<std::size_t, std::size_t> TextAlignment::heard_between(std::size_t recording,
                                                                 double begin, double end) const {
  const auto& heard = heard_[recording];
  const auto place_of = [&](double second) {
    const auto found = std::ranges::partition_point(heard, [&](const SpokenWord& word) {
      return middle_of(recordings_[recording][word.source]) < second;
    });
    return static_cast<std::size_t>(found - heard.begin());
  };
  return {place_of(begin), place_of(end)};
}

// The matches all of whose heard words are of those from `from` to `to`.
std::span<const WordMatch> TextAlignment::matches_in(std::size_t recording, std::size_t from,
                                                     std::size_t to) const {
  const auto& matches = matches_[recording];
  const auto first = std::ranges::lower_bound(matches, from, {}, &WordMatch::second);
  auto last = first;
  while (last != matches.end() && last->second + last->second_count <= to) ++last;
  return {first, last};
}

std::string TextAlignment::heard_text(std::size_t recording, std::size_t from,
                                      std::size_t to) const {
  const auto& heard = heard_[recording];
  std::string text;
  for (std::size_t i = heard[from].source; i <= heard[to - 1].source; ++i) {
    text += recordings_[recording][i].text;
  }
  return std::string(strip_spaces(text));
}

std::optional<ClipText> TextAlignment::text_between(std::size_t recording, double begin,
                                                    double end) const {
  const auto [from, to] = heard_between(recording, begin, end);
  const auto inside = matches_in(recording, from, to);
  if (inside.empty()) return std::nullopt;
  Agreement agreement;
  agreement.compare(words_, heard_[recording], {from, to}, inside);
  agreement.lose_beside(words_, matches_[recording], inside);
  return ClipText{.source = TextSource::Book,
                  .text = spelled(inside),
                  .heard = heard_text(recording, from, to),
                  .confidence = agreement.confidence(),
                  .doubt = agreement.doubt()};
}

}  // namespace myxtts
