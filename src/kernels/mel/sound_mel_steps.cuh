// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/mel/sound_mel.h"

#ifdef __CUDACC__
#define MYXTTS_LANE __host__ __device__ inline
#else
#define MYXTTS_LANE inline
#endif

// One frame of a mel spectrogram, step by step, as each of kSoundThreads lanes does its part.
// Between two steps all lanes have finished the one before.
//
// Note [A frame's transform]
// The window shows 1024 of a frame's 2048 samples. Where they stand in the frame changes the phases
// of the transform and not its powers, so they stand at the beginning, behind them zeros. Two
// neighbours make one complex number: a transform of 1024 complex numbers, the second half zeros,
// in five steps of radix 4 (Stockham's order: sorted at the end without a permutation). Then the
// halves of the real transform are told apart.

namespace myxtts::sound_mel {

struct Complex {
  float re = 0;
  float im = 0;
};

MYXTTS_LANE Complex operator+(Complex a, Complex b) {
  return {a.re + b.re, a.im + b.im};
}
MYXTTS_LANE Complex operator-(Complex a, Complex b) {
  return {a.re - b.re, a.im - b.im};
}
MYXTTS_LANE Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

inline constexpr int kPoints = kSoundFft / 2;      // complex numbers of the transform
inline constexpr int kQuarter = kPoints / 4;       // lanes: each holds four of them
inline constexpr float kFullScale = 1.0F / 32768;  // of 16-bit sound
static_assert(kQuarter == kSoundThreads);

// The sound of one row.
struct Row {
  const std::int16_t* samples;
  int count;   // of them; zeros behind
  int length;  // with the zeros
};

// A sample of the row reflected at both ends.
MYXTTS_LANE float sample(const Row& row, int place) {
  if (place < 0) place = -place;
  if (place >= row.length) place = 2 * (row.length - 1) - place;
  return place < row.count ? static_cast<float>(row.samples[place]) * kFullScale : 0.0F;
}

// Whether the frame that begins at `first` has a sample that is not behind the sound's end. What is
// reflected at the row's end comes from the last samples before it.
MYXTTS_LANE bool is_silent(const Row& row, int first) {
  const int reflected = 2 * (row.length - 1) - (first + kSoundWindow - 1);
  return row.count == 0 || (first >= row.count && reflected >= row.count);
}

// Four complex numbers of a lane.
struct Four {
  Complex at[4];
};

MYXTTS_LANE void radix4(Four& v) {
  const Complex a = v.at[0] + v.at[2];
  const Complex b = v.at[0] - v.at[2];
  const Complex c = v.at[1] + v.at[3];
  const Complex d = v.at[1] - v.at[3];
  const Complex e = {d.im, -d.re};  // d times -i
  v.at[0] = a + c;
  v.at[1] = b + e;
  v.at[2] = a - c;
  v.at[3] = b - e;
}

// The first of the five: the sound itself, seen through the window.
MYXTTS_LANE Four first_numbers(const Row& row, const float* window, int first, int lane) {
  Four v = {};
  for (int half = 0; half < 2; ++half) {
    const int place = 2 * (lane + half * kQuarter);
    v.at[half] = {sample(row, first + place) * window[place],
                  sample(row, first + place + 1) * window[place + 1]};
  }
  radix4(v);
  return v;
}

// Every later one; `done` is how many points were joined before: 4, 16, 64, 256.
MYXTTS_LANE Four next_numbers(const Complex* points, const Complex* roots, int done, int lane) {
  const int turn = (lane % done) * (kSoundFft / (4 * done));
  Four v;
  for (int r = 0; r < 4; ++r) v.at[r] = points[lane + r * kQuarter] * roots[r * turn];
  radix4(v);
  return v;
}

MYXTTS_LANE void store(Complex* points, const Four& v, int done, int lane) {
  const int first = lane / done * 4 * done + lane % done;
  for (int r = 0; r < 4; ++r) points[first + r * done] = v.at[r];
}

// The power of the real transform at `bin`, 0 to kPoints.
MYXTTS_LANE float power(const Complex* points, const Complex* roots, int bin) {
  const Complex z = points[bin % kPoints];
  const Complex mirror = points[(kPoints - bin) % kPoints];
  const Complex even = {0.5F * (z.re + mirror.re), 0.5F * (z.im - mirror.im)};
  const Complex odd = {0.5F * (z.im + mirror.im), -0.5F * (z.re - mirror.re)};
  const Complex turned = roots[bin] * odd;
  const Complex x = even + turned;
  return x.re * x.re + x.im * x.im;
}

}  // namespace myxtts::sound_mel
