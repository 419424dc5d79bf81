// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

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

// Speech between two pauses, in seconds of the recording.
struct SpeechUnit {
  double begin = 0;
  double end = 0;

  double seconds() const { return end - begin; }
};

// Where somebody speaks, cut at every pause of at least `least_pause` seconds. A pause is where
// both the voice activity and the level say so: no word has one of 0.2 s inside it, while stops
// (p, t, k) hold the breath for 0.05 to 0.15 s. Edges follow the level, to 10 ms.
std::vector<SpeechUnit> speech_units(const SoundCourse& course, double least_pause);

}  // namespace myxtts
