// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/model.h"
#include "config/run_config.h"

namespace myxtts {

// The first and one past the last sample that a clip's prompt was cut from.
struct PromptSpan {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// One clip as the GPT sees it, without start and stop ids. The vectors outlive the call it is for.
struct GptClip {
  std::span<const std::int64_t> text;
  std::span<const std::int64_t> codes;
  PromptSpan prompt = {};  // read only where spans are masked
};

// How many targets count in the loss.
struct TargetCounts {
  std::int64_t text = 0;
  std::int64_t audio = 0;

  friend bool operator==(const TargetCounts&, const TargetCounts&) = default;
};

// A row by its lengths alone.
struct RowOutline {
  std::int64_t text_tokens = 0;
  std::int64_t codes = 0;
  PromptSpan prompt = {};
  bool is_last = false;  // of its batch
};

// Sizes to pad to, so that batches of equal sizes can share one CUDA graph. 0: as many as needed.
struct RowSizes {
  std::int64_t tokens = 0;
  std::int64_t text_targets = 0;
  std::int64_t audio_targets = 0;
  std::int64_t longest = 0;   // an upper bound of the longest segment; padding is cut to fit
  std::int64_t segments = 0;  // clips and pieces of padding together

  friend bool operator==(const RowSizes&, const RowSizes&) = default;
};

// Note [Packed rows]
// A batch is its clips' rows one after another, without padding between them:
//
//   [32 latents | START x1 .. xt | start c1 .. cn stop stop stop]  [32 latents | START ...
//   [padding]
//
// Each row is a segment that attends only within itself. Positions restart with each part; latents
// have none. Every text and code input has a target: x1 .. xt STOP, and c1 .. cn stop stop stop
// stop. Padding, if the total is to be larger, is segments of its own at the end, so it can
// influence nothing, and its targets are -1. It is cut into pieces of at most RowSizes::longest, as
// attention must know the longest segment beforehand.
//
// A token is a row of the table [text embedding; code embedding; conditioning latents of the
// batch], a position a row of [zeros; text positions; code positions].
struct GptRows {
  std::int64_t clips = 0;
  std::vector<std::int64_t> lengths;        // of each segment; behind the clips padding, maybe 0
  std::vector<std::int32_t> segment_ends;   // 0 and the running sums of lengths
  std::int64_t longest = 0;                 // at least the longest segment
  std::vector<std::int64_t> tokens;         // [tokens]
  std::vector<std::int64_t> positions;      // [tokens]
  std::vector<std::int64_t> target_rows;    // [text targets + audio targets] where they are
  std::vector<std::int64_t> text_targets;   // -1: ignored
  std::vector<std::int64_t> text_clips;     // the clip of each target; `clips` for padding
  std::vector<std::int64_t> audio_targets;  // -1: ignored
  std::vector<std::int64_t> audio_clips;
  std::int64_t text_count = 0;   // targets that are not ignored
  std::int64_t audio_count = 0;  // may be 0 where spans are masked; said in the log
};

// The rows of a training or evaluation step. Throws DataError when a clip is longer than the model
// allows or an id is outside its embedding.
GptRows pack_rows(const GptConfig& config, std::span<const GptClip> clips,
                  PromptMask mask = PromptMask::None, const RowSizes& sizes = {});

// What pack_rows() would count of such a row.
TargetCounts count_targets(const GptConfig& config, const RowOutline& row, PromptMask mask);

// The rows of the pass that gives the decoder its input: the STOP of the text is seen, the codes
// are those that were generated (their stop included), and the "targets" are the states that
// predicted each of them.
GptRows pack_latent_rows(const GptConfig& config, std::span<const GptClip> clips);

}  // namespace myxtts
