// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "pipeline/decoded_batch.h"

namespace myxtts {

// One clip to be loaded into its place.
struct ClipJob {
  std::int64_t batch = 0;
  std::size_t index = 0;  // in the batch
  ClipNumber clip = 0;
};

}  // namespace myxtts
