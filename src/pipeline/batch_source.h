// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "data/batches/batch_plan.h"
#include "data/batches/sound_window.h"
#include "data/cache/feature_cache.h"
#include "data/clip_decoder.h"
#include "data/corpus.h"
#include "data/skipped.h"
#include "model/gpt_rows.h"

namespace myxtts {

// What the stages ask of a corpus. CorpusBatches answers from the disk; tests answer from memory.
// Any thread may ask anything; answers to equal questions are equal.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  virtual PlannedBatch batch(DataPosition position) const = 0;
  virtual DataPosition next(DataPosition position) const = 0;
  // How many ranks share the steps, and their batches at a position, of which batch() is one.
  virtual std::int64_t ranks() const { return 1; }
  virtual std::vector<PlannedBatch> batches_of_ranks(DataPosition position) const {
    return {batch(position)};
  }
  virtual ClipView clip(ClipNumber number) const = 0;

  virtual std::vector<std::int64_t> text_ids(const ClipView& clip) const = 0;
  // `repeat` as in PlannedBatch::repeats.
  virtual PromptSpan prompt(std::int64_t epoch, const ClipView& clip,
                            std::uint32_t repeat) const = 0;

  // Whether a clip gets the prompt of another clip of its speaker in the batch in place of its own.
  virtual bool swaps_prompts() const { return false; }

  // By how many samples at 22,050 Hz its sound begins later, silence following at its end.
  virtual std::int64_t shift(std::int64_t /*epoch*/, const ClipView&,
                             std::uint32_t /*repeat*/) const {
    return 0;
  }

  // Which of a clip's `count` codes the GPT reads as other ones, of `codes` there are.
  virtual ReplacedCodes noise(std::int64_t /*epoch*/, const ClipView&, std::uint32_t /*repeat*/,
                              std::int64_t /*count*/, std::int64_t /*codes*/) const {
    return {};
  }

  // Where one of a clip's `count` windows begins, from 0 to `last`; the source fills in the seed of
  // the draw. Unless it draws them, where evaluation has them.
  virtual std::int64_t window(VisitDraw /*draw*/, std::int64_t window, std::int64_t count,
                              std::int64_t last) const {
    return evaluation_window(window, count, last);
  }
  // The number of a clip's speaker, from 0; below 0, each with its own: not trained on.
  virtual std::int64_t speaker(const ClipView&) const { return 0; }

  // What was computed in an earlier epoch or run; nothing where there is no cache or it lacks the
  // clip. The views are good as long as the source.
  virtual std::optional<CachedClip> cached(const ClipView& clip) const = 0;

  // The reader begins an epoch: a cache may look for what other processes have added.
  virtual void begin_epoch(std::int64_t) const {}

  // Says that decode() will be asked for the clip soon. Does not wait for its bytes.
  virtual void read_ahead(const ClipView& clip) const = 0;
  virtual std::variant<DecodedClip, Skipped> decode(const ClipView& clip) const = 0;

  // A clip turned out bad. Throws DataError when that makes more of them than the user allows.
  virtual void leave_out(ClipNumber number, const Skipped& skipped) = 0;
};

}  // namespace myxtts
