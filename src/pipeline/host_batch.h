// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/batches/batch.h"
#include "pipeline/staging_pool.h"

namespace myxtts {

// One clip of a batch on its way to the data device.
struct HostClip {
  ClipNumber number = 0;
  std::uint64_t identity = 0;  // what the cache knows it by

  std::int64_t samples = 0;    // at 22,050 Hz, of the whole clip
  PromptSpan prompt = {};      // in samples at 22,050 Hz
  std::size_t prompt_row = 0;  // the row of the batch whose prompt the row gets

  // Its sound in Batch::samples: all of it as it was decoded or, where the codes are known,
  // its prompt at 22,050 Hz. A shifted clip stands there whole, with as many zeros behind it:
  //
  //   [shift][first_sample ...      ][zeros]
  //   [source_samples: the clip     ]
  //          [source_samples: shifted      ]
  std::int64_t first_sample = 0;
  std::int64_t source_samples = 0;
  std::int64_t source_rate = 0;
  std::int64_t shift = 0;  // samples of the clip that are passed over

  std::int64_t codes = 0;       // that its row has
  bool codes_known = false;     // from the cache; false: the DVAE has to find them
  std::int64_t first_code = 0;  // unknown ones: its first among all unknown codes of the batch
};

template <typename Value>
using SpanOf = std::span<const Value>;

// One batch in host memory, ready for the data device: sound as it was decoded (or cached), and the
// rows with a 0 wherever a code is not known yet.
//
// All arrays lie in `block`, each on a 64-byte boundary, so that one copy of block->bytes() moves
// them all; where an array is on the device follows from its distance to the block's first byte.
struct HostBatch : Batch<SpanOf> {
  std::vector<HostClip> host_clips = {};  // one for each row; may be fewer than the plan's, or none
  std::optional<StagingPool::Block> block = {};  // always there once collated
};

}  // namespace myxtts
