// SPDX-License-Identifier: Apache-2.0
#include "clips/text_alignment.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

constexpr std::size_t kPassage = 4;     // words of the text that are worth telling of
constexpr std::size_t kSound = 2;       // heard words, likewise
constexpr double kOfAnotherText = 0.2;  // share of heard words found below which it is that
constexpr std::int64_t kFewWords = 20;  // from which nothing can be told
constexpr double kRepeated = 0.6;       // share of letters that say a passage again
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

}  // namespace

TextAlignment::TextAlignment(std::string text, std::vector<HeardWords> recordings,
                             std::string_view language, const std::string& subject)
    : text_(std::move(text)), recordings_(std::move(recordings)) {
  SpokenWords spoken(parse_language(language));
  const auto words_in = [&spoken](std::string_view of, std::size_t heard, std::vector<Word>& into) {
    for (const WordPlace& place : find_words(of)) {
      const std::int32_t number = spoken.number(of, place);
      if (number < 0) continue;
      into.push_back({place.begin, place.end, heard, number, std::ssize(spoken.letters(number))});
    }
  };
  words_in(text_, 0, words_);
  if (words_.empty()) throw DataError(fmt::format("{} holds no words.", subject));
  for (const HeardWords& recording : recordings_) {
    std::vector<Word>& heard = heard_.emplace_back();
    for (std::size_t i = 0; i < recording.size(); ++i) words_in(recording[i].text, i, heard);
  }

  std::vector<std::int32_t> first;
  for (const Word& word : words_) first.push_back(word.number);
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
  add_unread();
  for (std::size_t i = 0; i < recordings_.size(); ++i) add_strange(i, spoken);
}

// As given, but where most of the rare words of the recordings stand in another order in the text.
std::vector<std::size_t> TextAlignment::reading_order() const {
  constexpr std::size_t kTwice = static_cast<std::size_t>(-1);
  const auto key = [](const std::vector<Word>& words, std::size_t at) {
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

void TextAlignment::add_unread() {
  std::vector<bool> is_read(words_.size());
  for (const auto& matches : matches_) {
    for (const WordMatch& match : matches) {
      for (std::size_t i = 0; i < match.first_count; ++i) is_read[match.first + i] = true;
    }
  }
  for (std::size_t begin = 0; begin < words_.size();) {
    std::size_t end = begin;
    while (end < words_.size() && !is_read[end]) ++end;
    if (end - begin >= kPassage) {
      unread_.push_back({.begin = words_[begin].begin,
                         .end = words_[end - 1].end,
                         .words = static_cast<std::int64_t>(end - begin)});
    }
    begin = end + 1;
  }
}

// Whether heard words say again what is read right behind them.
bool TextAlignment::repeats(std::size_t recording, std::size_t begin, std::size_t end,
                            const SpokenWords& spoken) const {
  const auto& matches = matches_[recording];
  const auto next = std::ranges::lower_bound(matches, end, {}, &WordMatch::second);
  if (next == matches.end() || next->second != end) return false;
  std::u32string said;
  for (std::size_t i = begin; i < end; ++i) said += spoken.letters(heard_[recording][i].number);
  std::u32string text;
  for (std::size_t i = next->first; i < words_.size() && text.size() < said.size(); ++i) {
    text += spoken.letters(words_[i].number);
  }
  const auto letters = static_cast<double>(std::max(said.size(), text.size()));
  const auto most = static_cast<std::int64_t>(letters * (1 - kRepeated));
  return letter_errors(said, text, most) <= most;
}

void TextAlignment::add_strange(std::size_t recording, const SpokenWords& spoken) {
  const auto& heard = heard_[recording];
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    if (end >= begin + kSound) {
      const std::size_t first = heard[begin].heard;
      const std::size_t last = heard[end - 1].heard;
      StrangeSound sound{.recording = recording,
                         .begin = recordings_[recording][first].begin,
                         .end = recordings_[recording][last].end,
                         .is_repetition = repeats(recording, begin, end, spoken)};
      for (std::size_t i = first; i <= last; ++i) sound.heard += recordings_[recording][i].text;
      sound.heard = strip_spaces(sound.heard);
      strange_.push_back(std::move(sound));
    }
  };
  for (const WordMatch& match : matches_[recording]) {
    add(match.second);
    begin = match.second + match.second_count;
  }
  add(heard.size());
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

std::optional<ClipText> TextAlignment::text_between(std::size_t recording, double begin,
                                                    double end) const {
  const auto& heard = heard_[recording];
  const auto& said = recordings_[recording];
  const auto place_of = [&](double second) {
    const auto found = std::ranges::partition_point(
        heard, [&](const Word& word) { return middle_of(said[word.heard]) < second; });
    return static_cast<std::size_t>(found - heard.begin());
  };
  const std::size_t from = place_of(begin);
  const std::size_t to = place_of(end);
  const auto& matches = matches_[recording];
  const auto first = std::ranges::lower_bound(matches, from, {}, &WordMatch::second);
  auto last = first;
  while (last != matches.end() && last->second + last->second_count <= to) ++last;
  if (first == last) return std::nullopt;

  ClipText clip{.source = TextSource::Book};
  std::int64_t errors = 0;
  std::int64_t heard_wrongly = 0;
  std::int64_t letters = 0;
  const auto add_lost = [&](const std::vector<Word>& words, std::size_t at, std::size_t until) {
    for (; at < until; ++at) {
      errors += words[at].letters;
      letters += words[at].letters;
    }
  };
  std::size_t next_heard = from;
  std::size_t piece = first->first;  // where the text that goes on without a gap began
  std::size_t next_text = first->first;
  for (auto match = first; match != last; ++match) {
    const std::size_t unread = match->first - next_text;
    if (unread >= kPassage) {
      clip.text += spelled(piece, next_text - 1) + " ";
      clip.doubt = "A passage of the text was not read inside it.";
      piece = match->first;
    } else if (unread > 0) {
      add_lost(words_, next_text, match->first);
      clip.doubt = "The text has words inside that were not heard.";
    }
    if (match->second > next_heard) {
      add_lost(heard, next_heard, match->second);
      clip.doubt = match == first ? "It begins with words that are not in the text."
                                  : "Words are heard inside that are not in the text.";
    }
    heard_wrongly += match->errors;
    letters += match->letters;
    next_heard = match->second + match->second_count;
    next_text = match->first + match->first_count;
  }
  if (next_heard < to) {
    add_lost(heard, next_heard, to);
    clip.doubt = "It ends with words that are not in the text.";
  }
  clip.text += spelled(piece, next_text - 1);
  // Words beside it that nobody heard may be said in it.
  const auto beside = [&](std::size_t gap_begin, std::size_t gap_end) {
    if (gap_end <= gap_begin || gap_end - gap_begin >= kPassage) return;
    add_lost(words_, gap_begin, gap_end);
    clip.doubt = "Words of the text at its edge were not heard.";
  };
  if (first != matches.begin()) {
    const WordMatch& before = *(first - 1);
    beside(before.first + before.first_count, first->first);
  }
  if (last != matches.end()) beside(next_text, last->first);
  for (std::size_t i = heard[from].heard; i <= heard[to - 1].heard; ++i) clip.heard += said[i].text;
  clip.heard = strip_spaces(clip.heard);
  const double doubtful =
      static_cast<double>(errors) + kWeightOfMisheard * static_cast<double>(heard_wrongly);
  clip.confidence = letters == 0 ? 0 : 1 - doubtful / static_cast<double>(letters);
  return clip;
}

}  // namespace myxtts
