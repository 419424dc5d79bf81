// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/model.h"
#include "pipeline/batch_source.h"
#include "pipeline/batcher.h"
#include "pipeline/host_batch.h"
#include "pipeline/window_layout.h"

namespace myxtts {

// A batch whose rows are known but which has no block of memory yet.
struct LaidOutBatch {
  HostBatch batch;  // everything but its arrays
  GptRows rows;
  std::vector<std::int64_t> code_tokens;  // these three as in Note [Unknown codes]
  std::vector<std::int64_t> code_targets;
  std::vector<std::int64_t> code_target_codes;
  std::vector<std::int64_t> noise_tokens;
  std::vector<std::int64_t> noise_ids;
  WindowArrays windows;
  std::int64_t samples = 0;  // that it takes along

  std::size_t block_bytes() const;
};

// The rows of a batch from its clips' text, lengths and known codes, and where windows are cut.
LaidOutBatch lay_out(const BatchSource& source, const GptConfig& gpt, MaskPromptSpan mask,
                     const SettledBatch& settled, const WindowPlan& windows = {});

// Copies rows and sound into `block`, which has block_bytes(), and gives the finished batch.
HostBatch write_into(StagingPool::Block block, LaidOutBatch laid_out, const SettledBatch& settled);

// An upper bound of block_bytes() for batches of these sizes without windows, with clips of at most
// this rate; 0 where the sizes leave it open.
std::size_t most_block_bytes(const GptConfig& gpt, const RowSizes& sizes, std::int64_t most_rate);

}  // namespace myxtts
