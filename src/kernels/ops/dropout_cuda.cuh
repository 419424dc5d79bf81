// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "device/cuda/runtime.h"
#include "kernels/ops/vectors.cuh"

// Dropout of eight numbers at a time: one draw of Philox gives 16 random bits for each of them.

namespace myxtts::device {

// Drops a number when its 16 random bits are below `threshold`; what is kept is scaled so that the
// mean stays, by the probability as these bits have it.
struct Dropout {
  RandomPlace place = {};
  std::uint32_t threshold = 0;
  float scale = 1;
};

inline float dropout_scale(std::uint32_t threshold) {
  return 65536.0F / (65536.0F - static_cast<float>(threshold));
}

inline std::uint32_t dropout_threshold(double probability) {
  return static_cast<std::uint32_t>(std::lround(probability * 65536.0));
}

// Takes the next place in the generator's numbers unless nothing is dropped: `count` of each
// subsequence, a multiple of four.
inline Dropout make_dropout(double probability, std::uint64_t count = 4) {
  if (probability <= 0) return {};
  const std::uint32_t threshold = dropout_threshold(probability);
  return {.place = take_random_numbers(count),
          .threshold = threshold,
          .scale = dropout_scale(threshold)};
}

// Philox 4x32 of Salmon and others, "Parallel random numbers: as easy as 1, 2, 3". Ten rounds are
// what they propose, seven the fewest whose numbers passed every test.
inline constexpr int kFewestRounds = 7;

template <int kRounds = 10>
__device__ inline uint4 philox(std::uint64_t seed, std::uint64_t offset, std::uint64_t sequence) {
  uint4 counter = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32),
                   static_cast<std::uint32_t>(sequence),
                   static_cast<std::uint32_t>(sequence >> 32)};
  std::uint32_t key0 = static_cast<std::uint32_t>(seed);
  std::uint32_t key1 = static_cast<std::uint32_t>(seed >> 32);
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const std::uint32_t high0 = __umulhi(0xd2511f53U, counter.x);
    const std::uint32_t low0 = 0xd2511f53U * counter.x;
    const std::uint32_t high1 = __umulhi(0xcd9e8d57U, counter.z);
    const std::uint32_t low1 = 0xcd9e8d57U * counter.z;
    counter = {high1 ^ counter.y ^ key0, low1, high0 ^ counter.w ^ key1, low0};
    key0 += 0x9e3779b9U;
    key1 += 0xbb67ae85U;
  }
  return counter;
}

// One bit for each number of vector `index`, 1 where it is kept.
__device__ inline std::uint8_t draw_kept(const Dropout& dropout, std::int64_t index) {
  std::uint64_t seed = dropout.place.seed;
  std::uint64_t offset = dropout.place.offset;
  if (dropout.place.device_seed != nullptr) {
    seed = static_cast<std::uint64_t>(*dropout.place.device_seed);
    offset += static_cast<std::uint64_t>(*dropout.place.device_offset);
  }
  const uint4 bits = philox(seed, offset / 4, static_cast<std::uint64_t>(index));
  const std::uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
  std::uint32_t kept = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    kept |= ((words[i] & 0xffffU) >= dropout.threshold ? 1U : 0U) << (2 * i);
    kept |= ((words[i] >> 16) >= dropout.threshold ? 1U : 0U) << (2 * i + 1);
  }
  return static_cast<std::uint8_t>(kept);
}

__device__ inline void keep(std::uint8_t kept, float scale, float (&numbers)[kVector]) {
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    numbers[i] = ((kept >> i) & 1U) != 0 ? numbers[i] * scale : 0.0F;
  }
}

}  // namespace myxtts::device
