// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/batch_source.h"
#include "pipeline/decoded_batch.h"

namespace myxtts {

// How many codes stand for so many samples at 22,050 Hz.
inline std::int64_t codes_of(std::int64_t samples, std::int64_t code_stride) {
  return (samples + code_stride - 1) / code_stride;
}

// One clip's text and sound: from the cache where it is there, otherwise decoded. A file that is
// not as long as when the corpus was looked at is left out: its row would not fit into the plan.
ClipResult load_clip(const BatchSource& source, ClipNumber number, std::int64_t code_stride);

}  // namespace myxtts
