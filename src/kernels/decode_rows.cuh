// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/code_sampling.h"

namespace myxtts {

// Where a row stands; in device memory, so that one graph serves every step.
struct DeviceRow {
  std::int32_t prefix = 0;    // keys before the start id
  std::int32_t step = 0;      // ids fed so far: the position of the next one
  std::int32_t next = 0;      // the id to feed
  std::int32_t finished = 1;  // nothing is done for it
  SamplingRule rule = {};
};

// What the host reads of a row without waiting; in mapped host memory.
// One word, so that both change at once.
struct HostRow {
  volatile std::uint64_t codes_and_end;  // codes made, and bit 32 once the row is finished

  __host__ __device__ static std::uint64_t pack(std::int32_t codes, bool finished) {
    return static_cast<std::uint32_t>(codes) | std::uint64_t{finished ? 1U : 0U} << 32U;
  }
};

// The rows of a decoder and what a step leaves behind. Pointers are to device memory but for the
// last two, which are the device's addresses of mapped host memory.
struct RowTables {
  DeviceRow* rows;      // [rows]
  std::uint8_t* seen;   // [rows, ids]
  float* logits;        // [rows, ids]
  float* latents;       // [rows, most_codes, D]
  HostRow* host_rows;   // [rows]
  std::int32_t* codes;  // [rows, most_codes]
  std::int32_t row_count;
  std::int32_t ids;
  std::int32_t most_codes;
  std::int32_t stop;
};

}  // namespace myxtts
