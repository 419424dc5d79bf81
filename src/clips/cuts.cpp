// SPDX-License-Identifier: Apache-2.0
#include "clips/cuts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace myxtts {

// --- Speech and pauses ----------------------------------------------------------------------

namespace {

constexpr float kBegins = 0.5F;           // probability from which somebody speaks
constexpr float kGoesOn = 0.35F;          // and goes on
constexpr double kNeighbourhood = 4.0;    // seconds on each side that say how loud silence is
constexpr double kBlock = 1.0;            // seconds for which that is asked once
constexpr float kAboveQuiet = 8.0F;       // dB above silence from which sound is speech
constexpr float kBelowLoud = 38.0F;       // dB below loud speech under which nothing is
constexpr float kLeastBelowLoud = 14.0F;  // dB: in noise, weak sounds are still speech
constexpr double kWeakEdge = 0.2;        // seconds by which a weak sound may go beyond the activity
constexpr double kShortestSound = 0.08;  // seconds; shorter ones are clicks

std::size_t step_at(double seconds) {
  return static_cast<std::size_t>(std::max(0L, std::lround(seconds / kLevelStep)));
}

float share_of(const SoundCourse& course, double begin, double end, double share) {
  const auto first = std::min(step_at(begin), course.level.size());
  const auto last = std::clamp(step_at(end), first, course.level.size());
  if (first == last) return kQuietest;
  std::vector<float> levels(course.level.begin() + static_cast<std::ptrdiff_t>(first),
                            course.level.begin() + static_cast<std::ptrdiff_t>(last));
  const auto place =
      levels.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(levels.size() - 1));
  std::nth_element(levels.begin(), place, levels.end());
  return *place;
}

// Of each step whether the voice activity finds speech: it begins with one limit and ends with
// another.
std::vector<char> active_steps(const SoundCourse& course) {
  std::vector<char> active(course.level.size());
  bool speaks = false;
  std::size_t window = 0;
  for (std::size_t step = 0; step < active.size(); ++step) {
    const auto now =
        std::min(static_cast<std::size_t>(static_cast<double>(step) * kLevelStep / kSpeechStep),
                 course.speech.empty() ? 0 : course.speech.size() - 1);
    if (now != window || step == 0) {
      window = now;
      const float p = course.speech.empty() ? 0.0F : course.speech[window];
      speaks = p >= (speaks ? kGoesOn : kBegins);
    }
    active[step] = speaks;
  }
  return active;
}

// The level above which sound is no silence, block by block.
std::vector<float> limits(const SoundCourse& course) {
  std::vector<float> found;
  for (double at = 0; at < course.seconds(); at += kBlock) {
    const double begin = at - kNeighbourhood;
    const double end = at + kBlock + kNeighbourhood;
    const float loud = loud_level(course, begin, end);
    const float above = quiet_level(course, begin, end) + kAboveQuiet;
    found.push_back(std::clamp(above, loud - kBelowLoud, loud - kLeastBelowLoud));
  }
  return found;
}

// Speech, step by step: where activity and level say so, and weak sounds beside it while they
// stand out of the silence.
std::vector<char> speaking_steps(const SoundCourse& course) {
  const auto active = active_steps(course);
  const auto limit = limits(course);
  const auto is_loud = [&](std::size_t step) {
    const auto block = static_cast<std::size_t>(static_cast<double>(step) * kLevelStep / kBlock);
    return course.level[step] > limit[std::min(block, limit.size() - 1)];
  };
  std::vector<char> speaks(active.size());
  for (std::size_t step = 0; step < active.size(); ++step) {
    speaks[step] = active[step] && is_loud(step);
  }
  const auto reach = step_at(kWeakEdge);
  const auto grow = [&](auto from, auto to, auto step_of) {
    std::size_t left = 0;
    for (auto i = from; i != to; ++i) {
      const std::size_t step = step_of(i);
      if (speaks[step]) {
        left = reach;
      } else if (left > 0 && is_loud(step)) {
        speaks[step] = 1;
        --left;
      } else {
        left = 0;
      }
    }
  };
  grow(std::size_t{0}, speaks.size(), [](std::size_t i) { return i; });
  grow(std::size_t{0}, speaks.size(), [&](std::size_t i) { return speaks.size() - 1 - i; });
  return speaks;
}

// Whether the voice activity, too, hears a pause somewhere between two times.
bool activity_pauses(const SoundCourse& course, double begin, double end) {
  const auto first = static_cast<std::size_t>(begin / kSpeechStep);
  const auto last = static_cast<std::size_t>(end / kSpeechStep);
  for (std::size_t window = first; window <= last && window < course.speech.size(); ++window) {
    if (course.speech[window] < kBegins) return true;
  }
  return false;
}

}  // namespace

float quiet_level(const SoundCourse& course, double begin, double end) {
  return share_of(course, begin, end, 0.1);
}

float loud_level(const SoundCourse& course, double begin, double end) {
  return share_of(course, begin, end, 0.95);
}

std::vector<Stretch> speech_units(const SoundCourse& course, double least_pause) {
  const auto speaks = speaking_steps(course);
  std::vector<Stretch> sounds;
  for (std::size_t step = 0; step < speaks.size(); ++step) {
    if (!speaks[step]) continue;
    const double begin = static_cast<double>(step) * kLevelStep;
    if (step == 0 || !speaks[step - 1]) sounds.push_back({begin, begin});
    sounds.back().end = begin + kLevelStep;
  }
  std::vector<Stretch> units;
  for (const Stretch& sound : sounds) {
    const bool goes_on =
        !units.empty() && (sound.begin - units.back().end < least_pause - 1e-9 ||
                           !activity_pauses(course, units.back().end, sound.begin));
    if (goes_on) {
      units.back().end = sound.end;
    } else {
      units.push_back(sound);
    }
  }
  std::erase_if(units, [](const Stretch& unit) { return unit.seconds() < kShortestSound; });
  return units;
}

// --- Words and pauses -----------------------------------------------------------------------

namespace {

constexpr double kWordEdge = 0.1;  // seconds by which times of words may be wrong

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

// The words whose times are near a pause.
std::span<const TimedWord> words_near(const Stretch& pause, std::span<const TimedWord> words) {
  constexpr double kNear = 30.0;  // seconds
  const auto place_of = [&](double second) {
    return std::ranges::lower_bound(words, second, {}, &TimedWord::begin);
  };
  return {place_of(pause.begin - kNear), place_of(pause.end + kNear)};
}

// Whether a pause is the inside of one of the words beside it; null where there is none.
bool is_inside_word(const Stretch& pause, const TimedWord* before, const TimedWord* behind) {
  const auto covers = [&](const TimedWord* word) {
    return word != nullptr && word->begin < pause.begin - kWordEdge &&
           word->end > pause.end + kWordEdge;
  };
  const bool no_gap =
      before != nullptr && behind != nullptr &&
      (before->end > pause.end + kWordEdge || behind->begin < pause.begin - kWordEdge);
  return covers(before) || covers(behind) || no_gap;
}

}  // namespace

std::vector<CutUnit> units_of_words(std::span<const Stretch> units,
                                    std::span<const TimedWord> words, double longest_in_word) {
  std::vector<CutUnit> result;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto& unit = units[i];
    if (words.empty() || i == 0) {
      result.push_back({.begin = unit.begin, .end = unit.end, .ends_phrase = words.empty()});
      continue;
    }
    const Stretch pause{units[i - 1].end, unit.begin};
    const auto near = words_near(pause, words);
    const auto next = std::ranges::find_if(near, [&](const TimedWord& word) {
      return (word.begin + word.end) / 2 > (pause.begin + pause.end) / 2;
    });
    const TimedWord* const before = next == near.begin() ? nullptr : &*(next - 1);
    const TimedWord* const behind = next == near.end() ? nullptr : &*next;
    if (pause.seconds() < longest_in_word && is_inside_word(pause, before, behind)) {
      result.back().end = unit.end;
      continue;
    }
    const auto sign = before == nullptr ? "." : last_sign(before->text);
    result.back().ends_sentence = is_end_of_sentence(sign);
    result.back().ends_phrase = !sign.empty();
    result.push_back({.begin = unit.begin, .end = unit.end});
  }
  return result;
}

// --- Clips ----------------------------------------------------------------------------------

namespace {

// What a choice costs, in seconds of speech that one would give up for it.
constexpr double kShortPause = 1.0;  // a cut at a pause of no length; fades over kFades
constexpr double kFades = 0.3;       // seconds
constexpr double kInSentence = 0.5;  // a cut where no sentence ends
constexpr double kInPhrase = 1.0;    // a cut where no sign stands
constexpr double kLongInside = 0.8;  // each second of a pause inside, beyond half a second
constexpr double kShortClip = 0.4;   // times the square of the seconds below kShort
constexpr double kShort = 4.0;
constexpr double kDropped = 4.0;  // each second of speech that is in no clip

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
