// SPDX-License-Identifier: Apache-2.0
#include "clips/speech.h"

#include <algorithm>
#include <cmath>

namespace myxtts {
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

std::vector<SpeechUnit> speech_units(const SoundCourse& course, double least_pause) {
  const auto speaks = speaking_steps(course);
  std::vector<SpeechUnit> sounds;
  for (std::size_t step = 0; step < speaks.size(); ++step) {
    if (!speaks[step]) continue;
    const double begin = static_cast<double>(step) * kLevelStep;
    if (step == 0 || !speaks[step - 1]) sounds.push_back({begin, begin});
    sounds.back().end = begin + kLevelStep;
  }
  std::vector<SpeechUnit> units;
  for (const SpeechUnit& sound : sounds) {
    const bool goes_on =
        !units.empty() && (sound.begin - units.back().end < least_pause - 1e-9 ||
                           !activity_pauses(course, units.back().end, sound.begin));
    if (goes_on) {
      units.back().end = sound.end;
    } else {
      units.push_back(sound);
    }
  }
  std::erase_if(units, [](const SpeechUnit& unit) { return unit.seconds() < kShortestSound; });
  return units;
}

}  // namespace myxtts
