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
//
// `Array` says where the arrays lie: GptRows are vectors, which rows are packed into; GptBatch is
// on a device; in between they lie in a staging block.
template <template <typename> class Array>
struct PackedRows {
  std::int64_t clips = 0;
  std::vector<std::int64_t> lengths = {};  // of each segment; behind the clips padding, maybe 0
  std::int64_t longest = 0;                // at least the longest segment
  TargetCounts counts = {};                // targets that are not ignored; see set_counts()

  Array<std::int32_t> segment_ends = {};   // [segments + 1] 0 and the running sums of lengths
  Array<std::int64_t> tokens = {};         // [N]
  Array<std::int64_t> positions = {};      // [N]
  Array<std::int64_t> target_rows = {};    // [Nt + Na] where they are
  Array<std::int64_t> text_targets = {};   // [Nt] -1: ignored
  Array<std::int64_t> text_clips = {};     // [Nt] the clip of each target; `clips` for padding
  Array<std::int64_t> audio_targets = {};  // [Na] -1: ignored
  Array<std::int64_t> audio_clips = {};    // [Na]
  Array<float> text_count = {};            // one number, at least 1: what the loss is divided by
  Array<float> audio_count = {};           // likewise
};

// Calls visit(array, array...) with each array of all these rows.
template <typename Visit, typename... Rows>
void for_each_row_array(Visit&& visit, Rows&... rows) {
  visit(rows.segment_ends...);
  visit(rows.tokens...);
  visit(rows.positions...);
  visit(rows.target_rows...);
  visit(rows.text_targets...);
  visit(rows.text_clips...);
  visit(rows.audio_targets...);
  visit(rows.audio_clips...);
  visit(rows.text_count...);
  visit(rows.audio_count...);
}

// Everything but the arrays.
template <typename From, typename To>
void copy_row_info(const From& from, To& to) {
  to.clips = from.clips;
  to.lengths = from.lengths;
  to.longest = from.longest;
  to.counts = from.counts;
}

template <typename Value>
using VectorOf = std::vector<Value>;
using GptRows = PackedRows<VectorOf>;

// How many targets the losses of the rows are divided by. The code targets may be 0 where spans are
// masked: such a batch has the loss 0, not 0 / 0.
void set_counts(GptRows& rows, const TargetCounts& counts);

// The rows of a training or evaluation step. The codes of a masked span do not count in the loss:
// with PromptMask::Clip those that each clip's prompt was cut from; PromptMask::Peer is the Python
// program's slip, the last clip's span only, in mel frames of 256 samples: for comparing with it,
// never for training. Throws DataError when a clip is longer than the model allows or an id is
// outside its embedding.
GptRows pack_rows(const GptConfig& config, std::span<const GptClip> clips,
                  PromptMask mask = PromptMask::None, const RowSizes& sizes = {});

// What pack_rows() would count of such a row.
TargetCounts count_targets(const GptConfig& config, const RowOutline& row, PromptMask mask);

// The rows of the pass that gives the decoder its input: the STOP of the text is seen, the codes
// are those that were generated (their stop included), and the "targets" are the states that
// predicted each of them.
GptRows pack_latent_rows(const GptConfig& config, std::span<const GptClip> clips);

}  // namespace myxtts
