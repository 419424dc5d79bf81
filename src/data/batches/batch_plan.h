// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "config/model.h"
#include "data/batches/epoch_plan.h"
#include "data/corpus.h"
#include "model/gpt_rows.h"

namespace myxtts {

// A place in the data: `step` batches of `epoch` were consumed. Where the epoch was divided anew,
// those since then: Note [An epoch divided anew].
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
  std::vector<std::uint32_t> repeats;  // of each clip: which of its visits in the epoch, from 0
  RowSizes sizes;                      // one of BatchPlan::sizes() with static shapes, else zeros
};

// The batches of every epoch as a pure function of (clips, settings, epoch): every visit exactly
// once an epoch over all ranks, every rank the same number of steps. A step has the same clips,
// over all ranks together, for every world size with the same batch_size * world_size.
//
// Any thread may ask; the first to ask about an epoch works it out, the others wait.
class BatchPlan {
 public:
  // The clips of the corpus' training(), with their weights. The corpus outlives the plan. Throws
  // ConfigError when a clip is longer than the token budget, DataError when nothing is left of the
  // epoch it starts in.
  BatchPlan(const Corpus& corpus, const GptConfig& gpt, const BatchSettings& settings,
            const EpochStart& start = {});
  // These clips once an epoch.
  BatchPlan(const Corpus& corpus, std::span<const ClipNumber> clips, const GptConfig& gpt,
            const BatchSettings& settings);
  BatchPlan(const BatchPlan&) = delete;
  BatchPlan& operator=(const BatchPlan&) = delete;

  std::int64_t slots() const { return planner_.slots(); }  // clips a batch holds at most
  std::int64_t ranks() const { return settings_.world_size; }
  // With a token budget epochs may differ by a few steps; one that was divided anew has those of
  // its rest.
  std::int64_t steps_per_epoch(std::int64_t epoch = 0) const;
  // Smallest first; every batch fits the last one. Empty without static shapes.
  const std::vector<RowSizes>& sizes() const { return sizes_; }
  double useful_share() const;  // tokens of clips among all computed, on this rank, over epoch 0

  // The position after the last step of an epoch is the first of the next one.
  PlannedBatch batch(DataPosition position) const;
  DataPosition next(DataPosition position) const;
  // Those of all ranks, in their order; batch() is one of them.
  std::vector<PlannedBatch> batches_of_ranks(DataPosition position) const;

  // With what a plan of other settings goes on from a position of this one.
  EpochStart rest_from(DataPosition position) const;

 private:
  BatchPlan(const Corpus& corpus, std::vector<VisitGroup> groups, const GptConfig& gpt,
            const BatchSettings& settings, const EpochStart& start);

  std::shared_ptr<const EpochPlan> plan_of(std::int64_t epoch) const;
  std::vector<Visit> share(const EpochPlan& plan, std::int64_t step) const;
  PlannedBatch batch_of(DataPosition position, std::span<const Visit> visits) const;

  const BatchSettings settings_;
  const EpochPlanner planner_;
  const std::vector<RowSizes> sizes_;

  // Everything below is guarded by mutex_.
  mutable std::mutex mutex_;
  // The epochs asked for last: readers may already be in the next one.
  mutable std::array<std::shared_ptr<const EpochPlan>, 2> known_;
};

}  // namespace myxtts
