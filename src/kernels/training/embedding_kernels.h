// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/training/cuda_kernels.h"

namespace myxtts {

// The kernels behind kernels/training/packed_embedding.h, on the current GPU.

// Where the rows of text ids, codes and latents are, and of their positions; or of the gradients.
struct EmbeddingTables {
  void* text = nullptr;
  void* codes = nullptr;
  void* latents = nullptr;
  void* text_positions = nullptr;
  void* code_positions = nullptr;
};

struct EmbeddingShape {
  Number number = Number::Fp32;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::int64_t text_ids = 0;
  std::int64_t code_ids = 0;
  std::int64_t latent_rows = 0;
  std::int64_t text_positions = 0;
  std::int64_t code_positions = 0;
  const std::int64_t* tokens = nullptr;     // [rows]
  const std::int64_t* positions = nullptr;  // [rows]
};

struct EmbeddingKernels {
  // out [rows, width]; kept [rows, width / 8] bits, null: no dropout.
  void (*forward)(const EmbeddingShape& shape, const EmbeddingTables& tables, double dropout,
                  void* out, std::uint8_t* kept) = nullptr;
  // Every row of each gradient is written; null ones are not wanted.
  void (*backward)(const EmbeddingShape& shape, const void* d_out, const std::uint8_t* kept,
                   double dropout, const EmbeddingTables& gradients) = nullptr;
};

inline constexpr std::int64_t kEmbeddingMultiple = 8;

}  // namespace myxtts
