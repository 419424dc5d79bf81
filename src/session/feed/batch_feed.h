// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "pipeline/data_pipeline.h"
#include "pipeline/feature_stage.h"

namespace myxtts {

class RunInputs;

// Batches on the model device of one rank, from the files of one part of the data.
using BatchFeed = DataPipeline<FeatureStage>::Outlet;

// The feeds of a run: one to train from, and one for each measurement. Each pipeline is made by the
// first rank that asks, is shared by all ranks of the process, and goes with the last feed. A feed
// is closed at the latest when it is let go. Any thread may ask, a rank's own for it. The inputs
// outlive the feeds, which may outlive this.
class BatchFeeds {
 public:
  explicit BatchFeeds(const RunInputs& inputs);

  // Training batches, epoch after epoch up to --epochs.
  std::shared_ptr<BatchFeed> training(std::size_t rank = 0);
  // The validation clips once: nothing masked, prompts where evaluation has them. A rank's n-th
  // call joins the others' n-th.
  std::shared_ptr<BatchFeed> validation(std::size_t rank = 0);

 private:
  struct Shared {
    std::shared_ptr<DataPipeline<FeatureStage>> pipeline = {};
    std::size_t ranks = 0;  // that have joined
  };
  using Make = std::shared_ptr<DataPipeline<FeatureStage>> (*)(const RunInputs&);

  std::shared_ptr<BatchFeed> join(Shared& shared, Make make, std::size_t rank);

  const RunInputs& inputs_;
  const std::size_t ranks_;

  // Everything below is guarded by mutex_.
  std::mutex mutex_;
  Shared training_;
  std::map<std::int64_t, Shared> measurements_;  // that not all ranks have joined yet
  std::vector<std::int64_t> measured_;           // by each rank
};

}  // namespace myxtts
