// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "config/model.h"
#include "data/corpus.h"
#include "model/gpt_rows.h"

namespace myxtts {

// What batches depend on besides the clips: nothing else, neither threads nor devices nor timing.
struct BatchSettings {
  std::int64_t batch_size = 1;                    // clips on one rank
  std::optional<std::int64_t> batch_tokens = {};  // a budget of tokens in place of a clip count
  std::int64_t most_token_counts = 8;
  bool static_shapes = true;  // pad the total to one of the token counts
  std::uint64_t seed = 0;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
};

// A place in the data: `step` batches of `epoch` were consumed.
struct DataPosition {
  std::int64_t epoch = 0;
  std::int64_t step = 0;

  friend bool operator==(const DataPosition&, const DataPosition&) = default;
};

// One batch of one rank, before anything is read. May hold fewer clips than the slots of a batch,
// or none: what is missing is padding of weight zero.
struct PlannedBatch {
  DataPosition position;
  std::vector<ClipNumber> clips;
  RowSizes sizes;  // one of BatchPlan::sizes() with static shapes
};

// The batches of every epoch as a pure function of (clips, settings, epoch): every kept clip
// exactly `repeats` times an epoch over all ranks, every rank the same number of steps. Any thread.
class BatchPlan {
 public:
  BatchPlan(const Corpus& corpus, std::span<const ClipNumber> clips, const GptConfig& gpt,
            const BatchSettings& settings);

  std::int64_t slots() const;  // clips a batch holds at most
  std::int64_t steps_per_epoch()
      const;  // may differ between epochs with a token budget: of epoch 0
  const std::vector<RowSizes>& sizes() const;
  double useful_share() const;  // tokens of clips among all computed, over epoch 0

  // The position after the last step of an epoch is the first of the next one.
  PlannedBatch batch(DataPosition position) const;
  DataPosition next(DataPosition position) const;

 private:
  // The implementer's.
};

// Where a clip's prompt is cut from in training, in samples at 22,050 Hz: a function of (seed,
// epoch, clip's id, repeat) alone. In evaluation it is the first 99,225 samples, or half the clip.
PromptSpan training_prompt(std::uint64_t seed, std::int64_t epoch, const ClipView& clip);
PromptSpan evaluation_prompt(std::int64_t samples);

}  // namespace myxtts
