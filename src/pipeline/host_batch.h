// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/batches/batch_plan.h"
#include "model/gpt_rows.h"
#include "pipeline/staging_pool.h"

namespace myxtts {

// One clip of a batch on its way to the data device.
struct HostClip {
  ClipNumber number = 0;
  std::uint64_t identity = 0;  // what the cache knows it by

  std::int64_t samples = 0;  // at 22,050 Hz, of the whole clip
  PromptSpan prompt = {};    // in samples at 22,050 Hz
  std::size_t hears = 0;     // the row of the batch whose prompt the row gets

  // Its sound in HostBatch::samples: all of it as it was decoded or, where the codes are known, its
  // prompt at 22,050 Hz. A shifted clip stands there whole, with as many zeros behind it:
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

// One batch in host memory, ready for the data device: sound as it was decoded (or cached), and the
// rows of Note [Packed rows] with a 0 wherever a code is not known yet.
//
// All arrays lie in `block`, each on a 64-byte boundary, so that one copy of block->bytes() moves
// them all; where an array is on the device follows from its distance to the block's first byte.
//
// Note [Unknown codes]
// The batch's U unknown codes are those of its clips with !codes_known, clip after clip. Once the
// DVAE has found codes [U] (the first HostClip::codes of each clip), the rows are completed by
//
//   tokens.index_put(code_tokens, codes + text_ids)                       [U]
//   audio_targets.index_put(code_targets, codes.index(code_target_codes)) [V], V <= U
//
// V is smaller where the prompt's span is masked: those targets stay -1.
struct HostBatch {
  std::size_t trainer = 0;   // that it is for, where a pipeline feeds several
  std::int64_t number = -1;  // counts from 0 in the order that trainer sees them
  DataPosition position;
  std::vector<HostClip> clips;  // one for each row, in order; may be fewer than the plan's, or none

  std::int64_t longest = 0;           // as in GptRows
  std::vector<std::int64_t> lengths;  // as in GptRows
  std::int64_t text_count = 0;        // of the whole step: Note [Steps of several batches]
  std::int64_t audio_count = 0;       // likewise
  bool ends_step = true;

  std::span<const std::int16_t> samples;       // of all clips, one after another
  std::span<const std::int32_t> segment_ends;  // this and the following as in GptRows
  std::span<const std::int64_t> tokens;
  std::span<const std::int64_t> positions;
  std::span<const std::int64_t> target_rows;
  std::span<const std::int64_t> text_targets;
  std::span<const std::int64_t> text_clips;
  std::span<const std::int64_t> audio_targets;
  std::span<const std::int64_t> audio_clips;
  std::span<const float> counts;                    // text_count and audio_count, at least 1 each
  std::span<const std::int64_t> code_tokens;        // [U] places in `tokens`
  std::span<const std::int64_t> code_targets;       // [V] places in `audio_targets`
  std::span<const std::int64_t> code_target_codes;  // [V] which of the U codes goes there

  // Once the rows are complete, tokens.index_put(noise_tokens, noise_ids) makes the GPT read other
  // codes there than those that are its targets.
  std::span<const std::int64_t> noise_tokens;
  std::span<const std::int64_t> noise_ids;

  // Of stages that train on sound, [WindowPlan::count()] each; else empty. A clip's windows stand
  // together, in the order of the rows; what is left over has the weight 0.
  std::span<const float> window_weights;
  std::span<const std::int64_t> window_clips;   // rows
  std::span<const std::int64_t> window_starts;  // units of the plan
  std::span<const std::int64_t> window_speakers;

  std::optional<StagingPool::Block> block;  // always there once collated

  std::int64_t sound_samples() const {  // of its clips, at 22,050 Hz
    std::int64_t sum = 0;
    for (const HostClip& clip : clips) sum += clip.samples;
    return sum;
  }
  std::int64_t unknown_codes() const { return static_cast<std::int64_t>(code_tokens.size()); }
};

}  // namespace myxtts
