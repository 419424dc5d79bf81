// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/training/cuda_kernels.h"

namespace myxtts {

// Three matrices side by side, and the sums of their columns: on the current GPU, in its current
// stream.
struct Join {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t width = 0;     // of each part, a multiple of kJoinWidthMultiple
  const void* parts[3] = {};  // [rows, width] each
  void* joined = nullptr;     // [rows, 3 · width]
  void* sums = nullptr;       // [3 · width] over rows; null: not wanted
};

struct JoinKernels {
  void (*join)(const Join&) = nullptr;
};

inline constexpr std::int64_t kJoinWidthMultiple = 8;

}  // namespace myxtts
