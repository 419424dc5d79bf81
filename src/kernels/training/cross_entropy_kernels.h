// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/training/cuda_kernels.h"

namespace myxtts {

// The kernels behind kernels/training/cross_entropy.h: rows of logits on the current GPU, each at a
// multiple of kLogitsMultiple numbers.
struct LogitRows {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t ids = 0;
  std::int64_t stride = 0;
  const void* logits = nullptr;           // [rows, ids]
  const std::int64_t* targets = nullptr;  // [rows], negative: ignored
};

struct CrossEntropyKernels {
  // losses and log_sums [rows]
  void (*forward)(const LogitRows& rows, float* losses, float* log_sums) = nullptr;
  // d_losses, log_sums [rows] -> d_logits with the rows' stride
  void (*backward)(const LogitRows& rows, const float* d_losses, const float* log_sums,
                   void* d_logits) = nullptr;
};

inline constexpr std::int64_t kLogitsMultiple = 8;

}  // namespace myxtts
