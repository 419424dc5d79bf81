// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/training/cuda_kernels.h"

namespace myxtts {

// The kernels behind kernels/training/group_norm.h: [clips, frames, width] on the current GPU.
struct GroupNormShape {
  Number number = Number::Fp32;
  std::int64_t clips = 0;
  std::int64_t frames = 0;
  std::int64_t width = 0;
  std::int64_t groups = 0;
};

struct GroupNormForward {
  GroupNormShape shape;
  const void* x = nullptr;
  const void* weight = nullptr;  // [width]
  const void* bias = nullptr;    // [width]
  double epsilon = 0;
  void* y = nullptr;
  float* mean = nullptr;     // [clips, groups]
  float* inverse = nullptr;  // [clips, groups] of the deviation
};

struct GroupNormBackward {
  GroupNormShape shape;
  const void* dy = nullptr;
  const void* x = nullptr;
  const void* weight = nullptr;
  const float* mean = nullptr;
  const float* inverse = nullptr;
  void* dx = nullptr;
  void* d_weight = nullptr;  // null: not wanted
  void* d_bias = nullptr;
};

struct GroupNormKernels {
  void (*forward)(const GroupNormForward&) = nullptr;
  void (*backward)(const GroupNormBackward&) = nullptr;
};

// What the kernels ask of a shape.
inline constexpr std::int64_t kGroupWidthMultiple = 8;
inline constexpr std::int64_t kMostGroups = 64;
inline constexpr std::int64_t kGroupNormWidest = 4096;

}  // namespace myxtts
