// SPDX-License-Identifier: Apache-2.0
#include "clips/cuts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace myxtts {
namespace {

constexpr double kWordEdge = 0.1;  // seconds by which times of words may be wrong

// What a choice costs, in seconds of speech that one would give up for it.
constexpr double kShortPause = 1.0;  // a cut at a pause of no length; fades over kFades
constexpr double kFades = 0.3;       // seconds
constexpr double kInSentence = 0.5;  // a cut where no sentence ends
constexpr double kInPhrase = 1.0;    // a cut where no sign stands
constexpr double kLongInside = 0.8;  // each second of a pause inside, beyond half a second
constexpr double kShortClip = 0.4;   // times the square of the seconds below kShort
constexpr double kShort = 4.0;
constexpr double kDropped = 4.0;  // each second of speech that is in no clip

std::string_view last_sign(const std::string& text) {
  constexpr std::string_view kSigns[] = {".", "!", "?", "…", "。", "！", "？", "؟", "।", "۔",
                                         ",", ";", ":", "،", "；", "，", "、", "—", "–"};
  std::string_view rest = text;
  while (!rest.empty() && (rest.ends_with('"') || rest.ends_with('\'') || rest.ends_with(')') ||
                           rest.ends_with(' '))) {
    rest.remove_suffix(1);
  }
  for (const char* quote : {"”", "»", "’"}) {
    if (rest.ends_with(quote)) rest.remove_suffix(std::string_view(quote).size());
  }
  for (const auto sign : kSigns) {
    if (rest.ends_with(sign)) return sign;
  }
  return {};
}

bool is_end_of_sentence(std::string_view sign) {
  return !sign.empty() && std::string_view(".!?…。！？؟।۔").find(sign) != std::string_view::npos;
}

// The words on both sides of a pause, as far as there are.
struct Sides {
  const TimedWord* before = nullptr;
  const TimedWord* behind = nullptr;
  bool is_inside = false;  // of a word
};

Sides sides_of(double begin, double end, std::span<const TimedWord> words, double longest_in_word) {
  const double middle = (begin + end) / 2;
  Sides sides;
  const auto after = std::ranges::find_if(
      words, [middle](const TimedWord& word) { return (word.begin + word.end) / 2 > middle; });
  if (after != words.begin()) sides.before = &*(after - 1);
  if (after != words.end()) sides.behind = &*after;
  const auto covers = [&](const TimedWord* word) {
    return word != nullptr && word->begin < begin - kWordEdge && word->end > end + kWordEdge;
  };
  const bool no_gap =
      sides.before != nullptr && sides.behind != nullptr &&
      (sides.before->end > end + kWordEdge || sides.behind->begin < begin - kWordEdge);
  sides.is_inside =
      end - begin < longest_in_word && (covers(sides.before) || covers(sides.behind) || no_gap);
  return sides;
}

double cost_of_cut(const CutUnit& before, double pause) {
  double cost = kShortPause * std::exp(-pause / kFades);
  if (!before.ends_sentence) cost += kInSentence * std::exp(-pause);
  if (!before.ends_phrase) cost += kInPhrase * std::exp(-pause);
  return cost;
}

// Room around: all of it, or half of what there is up to the neighbour.
CutClip clip_of(std::span<const CutUnit> units, std::size_t first, std::size_t count, double room,
                double seconds) {
  const auto& begin = units[first];
  const auto& end = units[first + count - 1];
  const bool has_next = first + count < units.size();
  const double before = first == 0 ? begin.begin : (begin.begin - units[first - 1].end) / 2;
  const double behind =
      has_next ? (units[first + count].begin - end.end) / 2 : std::max(0.0, seconds - end.end);
  return {.first = first,
          .count = count,
          .begin = begin.begin - std::min(room, before),
          .end = end.end + std::min(room, behind)};
}

double cost_of_clip(std::span<const CutUnit> units, const CutClip& clip) {
  double cost = 0;
  for (std::size_t i = clip.first + 1; i < clip.first + clip.count; ++i) {
    cost += kLongInside * std::max(0.0, units[i].begin - units[i - 1].end - 0.5);
  }
  const double missing = std::max(0.0, kShort - clip.seconds());
  cost += kShortClip * missing * missing;
  const auto next = clip.first + clip.count;
  if (next < units.size()) {
    cost += cost_of_cut(units[next - 1], units[next].begin - units[next - 1].end);
  }
  return cost;
}

bool may_join(const CutUnit& a, const CutUnit& b, const CutOptions& options) {
  return b.fault.empty() && a.voice == b.voice && b.begin - a.end <= options.longest_pause;
}

}  // namespace

std::vector<CutUnit> units_of_words(std::span<const SpeechUnit> units,
                                    std::span<const TimedWord> words, double longest_in_word) {
  std::vector<CutUnit> result;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto& unit = units[i];
    if (words.empty() || i == 0) {
      result.push_back({.begin = unit.begin, .end = unit.end, .ends_phrase = words.empty()});
      continue;
    }
    const auto from = std::ranges::lower_bound(words, units[i - 1].end - 30.0, {},
                                               [](const TimedWord& word) { return word.begin; });
    const auto near = std::ranges::lower_bound(words, unit.begin + 30.0, {},
                                               [](const TimedWord& word) { return word.begin; });
    const Sides sides =
        sides_of(units[i - 1].end, unit.begin, std::span(from, near), longest_in_word);
    if (sides.is_inside) {
      result.back().end = unit.end;
      continue;
    }
    const auto sign = sides.before == nullptr ? "." : last_sign(sides.before->text);
    result.back().ends_sentence = is_end_of_sentence(sign);
    result.back().ends_phrase = !sign.empty();
    result.push_back({.begin = unit.begin, .end = unit.end});
  }
  return result;
}

std::vector<CutClip> plan_clips(std::span<const CutUnit> units, const CutOptions& options,
                                double recording_seconds) {
  const std::size_t count = units.size();
  std::vector<double> best(count + 1, std::numeric_limits<double>::infinity());
  std::vector<CutClip> chosen(count + 1);  // the clip that ends there; count 0: the unit is dropped
  best[0] = 0;
  for (std::size_t first = 0; first < count; ++first) {
    const double dropped = best[first] + kDropped * (units[first].end - units[first].begin);
    if (dropped < best[first + 1]) {
      best[first + 1] = dropped;
      chosen[first + 1] = {};
    }
    if (!units[first].fault.empty()) continue;
    for (std::size_t last = first; last < count; ++last) {
      if (last > first && !may_join(units[last - 1], units[last], options)) break;
      const auto clip = clip_of(units, first, last - first + 1, options.room, recording_seconds);
      if (clip.seconds() > options.max_seconds) break;
      if (clip.seconds() < options.min_seconds) continue;
      const double cost = best[first] + cost_of_clip(units, clip);
      if (cost < best[last + 1]) {
        best[last + 1] = cost;
        chosen[last + 1] = clip;
      }
    }
  }
  std::vector<CutClip> clips;
  for (std::size_t end = count; end > 0;) {
    const CutClip& clip = chosen[end];
    if (clip.count > 0) clips.push_back(clip);
    end -= std::max<std::size_t>(clip.count, 1);
  }
  std::ranges::reverse(clips);
  return clips;
}

}  // namespace myxtts
