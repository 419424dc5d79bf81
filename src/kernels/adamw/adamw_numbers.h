// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/adamw/adamw.h"

#ifdef __CUDACC__
#define MYXTTS_EVERYWHERE __host__ __device__
#else
#define MYXTTS_EVERYWHERE
#endif

// The arithmetic of AdamW on single numbers, the same text for the CPU and for CUDA.

namespace myxtts::adamw {

MYXTTS_EVERYWHERE inline std::uint32_t bits_of(float number) {
  std::uint32_t bits = 0;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

MYXTTS_EVERYWHERE inline float from_bits(std::uint32_t bits) {
  float number = 0;
  memcpy(&number, &bits, sizeof number);
  return number;
}

MYXTTS_EVERYWHERE inline bool finite(float number) {
  return (bits_of(number) & 0x7f800000U) != 0x7f800000U;
}

// 32 random bits for a number of a step: a hash, so there is no state to keep, and a resumed run
// rounds as the first one did.
MYXTTS_EVERYWHERE inline std::uint32_t random_bits(std::uint32_t step_key, std::uint32_t index) {
  std::uint32_t x = index * 0x9e3779b9U ^ step_key;
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}

MYXTTS_EVERYWHERE inline std::uint32_t rounding_key(std::uint64_t seed, std::int64_t step) {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(step);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32);
}

// Note [Short moments]
// An average that moves by 4 % of its way in a step stands still where its numbers are 4 % apart
// and are rounded to the nearest: the square of a gradient that was large once would never be
// forgotten. So short moments are rounded up or down at random, which keeps their mean.
//
// bf16 takes the upper half of a float. Of eight bits, a block of kAdamWBlock numbers has one fp32
// scale, and a number is a small float of four bits of exponent: sign and three bits of mantissa
// for the mean, four bits for the root of the square, which spans half the range of the square.
// Code 0 is 0; code c is 2^(e - 15) · (1 + f / 2^bits), so numbers down to 2^-15 of the largest of
// a block are told apart by 3 % to 12 %.

// Rounds to bf16 up or down with `random` of 16 bits.
MYXTTS_EVERYWHERE inline std::uint16_t to_bf16_at_random(float number, std::uint32_t random) {
  return static_cast<std::uint16_t>((bits_of(number) + (random & 0xffffU)) >> 16);
}

MYXTTS_EVERYWHERE inline std::uint16_t to_bf16(float number) {
  const std::uint32_t bits = bits_of(number);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

MYXTTS_EVERYWHERE inline float from_bf16(std::uint16_t number) {
  return from_bits(static_cast<std::uint32_t>(number) << 16);
}

inline constexpr int kMeanBits = 3;  // of mantissa
inline constexpr int kSquareBits = 4;

// The largest number that a code stands for.
template <int kBits>
MYXTTS_EVERYWHERE constexpr float top() {
  return 2.0F - 1.0F / static_cast<float>(1 << kBits);
}

// number in [0, top], random of 16 bits -> a code of kBits + 4 bits.
template <int kBits>
MYXTTS_EVERYWHERE inline std::uint32_t encode(float number, std::uint32_t random) {
  constexpr std::uint32_t kFirstExponent = 127 - 15;
  constexpr std::uint32_t kLast = (16U << kBits) - 1;
  const float lowest = (1.0F + 1.0F / static_cast<float>(1 << kBits)) / 32768.0F;
  if (number < lowest) {
    return static_cast<float>(random & 0xffffU) * (lowest / 65536.0F) < number ? 1U : 0U;
  }
  const std::uint32_t rounded = bits_of(number) + ((random & 0xffffU) << (7 - kBits));
  const std::uint32_t code = (rounded >> (23 - kBits)) - (kFirstExponent << kBits);
  return code < kLast ? code : kLast;
}

template <int kBits>
MYXTTS_EVERYWHERE inline float decode(std::uint32_t code) {
  constexpr std::uint32_t kFirstExponent = 127 - 15;
  return code == 0 ? 0.0F : from_bits((code + (kFirstExponent << kBits)) << (23 - kBits));
}

MYXTTS_EVERYWHERE inline std::uint8_t encode_mean(float scaled, std::uint32_t random) {
  const std::uint32_t sign = scaled < 0.0F ? 0x80U : 0U;
  return static_cast<std::uint8_t>(sign | encode<kMeanBits>(fabsf(scaled), random));
}

MYXTTS_EVERYWHERE inline float decode_mean(std::uint8_t code) {
  const float size = decode<kMeanBits>(code & 0x7fU);
  return (code & 0x80U) != 0 ? -size : size;
}

// A weight and its two averages.
struct Element {
  float weight = 0;
  float mean = 0;
  float square = 0;
};

// What all elements of an update share.
struct Factors {
  float mean_share = 0;    // 1 - beta1
  float square_kept = 0;   // beta2
  float square_share = 0;  // 1 - beta2
  float epsilon = 0;
  float gradient_factor = 1;
  float decay_factor = 1;
  float step_size = 0;
  float square_factor = 1;
};

MYXTTS_EVERYWHERE inline Factors factors_of(const AdamWRule& rule, const UpdateState& state) {
  return {.mean_share = static_cast<float>(1.0 - rule.beta1),
          .square_kept = static_cast<float>(rule.beta2),
          .square_share = static_cast<float>(1.0 - rule.beta2),
          .epsilon = static_cast<float>(rule.epsilon),
          .gradient_factor = state.gradient_factor,
          .decay_factor = state.decay_factor,
          .step_size = state.step_size,
          .square_factor = state.square_factor};
}

MYXTTS_EVERYWHERE inline void step(const Factors& factors, float gradient, float decay_factor,
                                   Element& element) {
  const float g = gradient * factors.gradient_factor;
  element.mean += (g - element.mean) * factors.mean_share;
  element.square = element.square * factors.square_kept + factors.square_share * g * g;
  const float root = sqrtf(element.square) * factors.square_factor + factors.epsilon;
  element.weight = element.weight * decay_factor - factors.step_size * element.mean / root;
}

// Judges a step whose squared gradients sum to `squares`, and sets what its weights need.
MYXTTS_EVERYWHERE inline void decide(const AdamWRule& rule, UpdateState& state, double squares) {
  const double norm = sqrt(squares) / static_cast<double>(state.loss_scale);
  const bool good = finite(static_cast<float>(norm)) && finite(state.loss);
  state.report = {.step = state.step,
                  .gradient_norm = norm,
                  .loss = state.loss,
                  .loss_scale = state.loss_scale,
                  .skipped = good ? 0 : 1};
  state.skip = state.report.skipped;
  state.loss = 0.0F;
  for (std::int64_t i = 0; i < kMostLosses; ++i) {
    state.report.losses[i] = state.losses[i];
    state.losses[i] = 0.0F;
  }

  double factor = 1.0 / static_cast<double>(state.loss_scale);
  if (rule.clip > 0 && norm + 1e-6 > rule.clip) factor *= rule.clip / (norm + 1e-6);
  state.gradient_factor = static_cast<float>(factor);
  if (good) {
    ++state.applied;
    const auto count = static_cast<double>(state.applied);
    state.step_size = static_cast<float>(state.learning_rate / (1.0 - pow(rule.beta1, count)));
    state.square_factor = static_cast<float>(1.0 / sqrt(1.0 - pow(rule.beta2, count)));
    state.decay_factor = static_cast<float>(1.0 - state.learning_rate * rule.weight_decay);
    state.rounding = rounding_key(rule.seed, state.applied);
  }
  if (!rule.scaled_loss) return;
  state.good_steps = good ? state.good_steps + 1 : 0;
  if (!good) state.loss_scale = fmaxf(1.0F, state.loss_scale / 2.0F);
  if (state.good_steps >= kGoodStepsToDouble) {
    state.loss_scale *= 2.0F;
    state.good_steps = 0;
  }
}

}  // namespace myxtts::adamw
