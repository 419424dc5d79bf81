// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda_kernels.h"

// Eight numbers of a row at a time, computed in fp32 whatever they are stored in.

namespace myxtts::device {

inline constexpr int kVector = 8;
inline constexpr int kWarp = 32;

template <typename T>
__device__ inline float to_float(T number) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(number);
  } else if constexpr (std::is_same_v<T, __half>) {
    return __half2float(number);
  } else {
    return number;
  }
}

template <typename T>
__device__ inline T from_float(float number) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(number);
  } else if constexpr (std::is_same_v<T, __half>) {
    return __float2half_rn(number);
  } else {
    return number;
  }
}

// What is left of a number that is stored and read back.
template <typename T>
__device__ inline float rounded(float number) {
  return to_float(from_float<T>(number));
}

template <typename T>
struct alignas(sizeof(T) * kVector) Packed {
  T numbers[kVector];
};

template <typename T>
__device__ inline void load(const T* from, float (&to)[kVector]) {
  const auto packed = *reinterpret_cast<const Packed<T>*>(from);
#pragma unroll
  for (int i = 0; i < kVector; ++i) to[i] = to_float(packed.numbers[i]);
}

template <typename T>
__device__ inline void store(T* to, const float (&from)[kVector]) {
  Packed<T> packed;
#pragma unroll
  for (int i = 0; i < kVector; ++i) packed.numbers[i] = from_float<T>(from[i]);
  *reinterpret_cast<Packed<T>*>(to) = packed;
}

// A vector as it is stored, in half the registers of fp32 where it is half precision.
template <typename T>
struct alignas(sizeof(T) * kVector) Stored {
  std::uint32_t words[sizeof(T) * kVector / sizeof(std::uint32_t)];

  __device__ void read(const void* numbers, std::int64_t place) {
    *this = *reinterpret_cast<const Stored*>(static_cast<const T*>(numbers) + place);
  }
  __device__ void unpack(float (&to)[kVector]) const {
    Packed<T> packed;
    memcpy(&packed, words, sizeof packed);
#pragma unroll
    for (int i = 0; i < kVector; ++i) to[i] = to_float(packed.numbers[i]);
  }
};

__device__ inline float sum_of_warp(float number) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    number += __shfl_xor_sync(0xffffffffU, number, distance);
  }
  return number;
}

// Calls `run` with a value of the type that a Number names.
template <typename Run>
void with_number(Number number, const Run& run) {
  switch (number) {
    case Number::Fp32:
      run(float{});
      return;
    case Number::Bf16:
      run(__nv_bfloat16{});
      return;
    case Number::Fp16:
      run(__half{});
      return;
  }
}

}  // namespace myxtts::device
