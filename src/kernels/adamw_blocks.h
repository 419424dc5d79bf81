// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "kernels/adamw.h"

// Blocks of the arrays of AdamW on the CPU, from and to whatever they are kept in.
namespace myxtts::adamw {

using Block = std::array<float, kAdamWBlock>;

struct BlockMoments {
  Block means;
  Block squares;
};

// 0 for what is not below `count`.
void load(const void* array, NumberFormat format, std::int64_t first, std::int64_t count,
          Block& block);
void store(void* array, NumberFormat format, std::int64_t first, const float* numbers);
void clear(void* array, NumberFormat format, std::int64_t first);

void load_moments(const AdamWArrays& arrays, std::int64_t first, BlockMoments& moments);
// `key` begins the random bits of rounding; see random_bits().
void store_moments(const AdamWArrays& arrays, std::int64_t first, std::uint32_t key,
                   const BlockMoments& moments);

}  // namespace myxtts::adamw
