// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "listen/word_times.h"

namespace myxtts {

inline constexpr double kLevelStep = 0.01;    // seconds
inline constexpr double kSpeechStep = 0.032;  // seconds; kSpeechWindow samples
inline constexpr float kQuietest = -100.0F;   // dB, where nothing is at all

// What a recording sounds like, step by step.
struct SoundCourse {
  std::vector<float> speech = {};   // probability that somebody speaks, of each 32 ms
  std::vector<float> level = {};    // dB of full scale, of each 10 ms
  std::vector<float> clipped = {};  // share of samples at full scale, of each 10 ms

  double seconds() const { return static_cast<double>(level.size()) * kLevelStep; }
};

// The loudness that 10 ms of the quietest tenth between two times have, and those of the loudest.
float quiet_level(const SoundCourse& course, double begin, double end);
float loud_level(const SoundCourse& course, double begin, double end);

// A part of a recording, in seconds.
struct Stretch {
  double begin = 0;
  double end = 0;

  double seconds() const { return end - begin; }
};

// Where somebody speaks, cut at every pause of at least `least_pause` seconds. A pause is where
// both the voice activity and the level say so: no word has one of 0.2 s inside it, while stops
// (p, t, k) hold the breath for 0.05 to 0.15 s. Edges follow the level, to 10 ms.
std::vector<Stretch> speech_units(const SoundCourse& course, double least_pause);

// How speech is cut into clips; seconds.
struct CutOptions {
  double min_seconds = 2.0;  // of a clip, with the room around it
  double max_seconds = 11.0;
  double room = 0.15;          // on each side, where the neighbours leave it
  double longest_pause = 1.0;  // inside a clip
};

// Speech that is not cut any further.
struct CutUnit {
  double begin = 0;
  double end = 0;
  bool ends_sentence = false;  // a better place to cut than any other
  bool ends_phrase = false;    // a sign follows, or nothing is known of words
  std::int64_t voice = 0;      // clips hold one voice
  std::string fault = {};      // why no clip may hold it; empty: nothing is wrong
};

// Units `first` to `first + count - 1`, with room before and behind.
struct CutClip {
  std::size_t first = 0;
  std::size_t count = 0;
  double begin = 0;
  double end = 0;

  double seconds() const { return end - begin; }
};

// From this many seconds on a pause is never the inside of a word: recognisers stretch words over
// pauses. Words that are whole subtitles have such pauses inside.
inline constexpr double kLongestInWord = 0.35;
inline constexpr double kLongestInSubtitle = 1e9;

// The units that words allow: where a pause lies inside a word its two sides are one. Without words
// they stay as they are. `words` are in order.
std::vector<CutUnit> units_of_words(std::span<const Stretch> units,
                                    std::span<const TimedWord> words,
                                    double longest_in_word = kLongestInWord);

// The clips that keep the most speech, cut at the longest pauses and at ends of sentences, as found
// by going through all ways to cut (dynamic programming). Units that are in no clip either have a
// fault, or fit into no clip: alone too short, or too long.
std::vector<CutClip> plan_clips(std::span<const CutUnit> units, const CutOptions& options,
                                double recording_seconds);

}  // namespace myxtts
