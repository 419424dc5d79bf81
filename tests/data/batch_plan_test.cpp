// SPDX-License-Identifier: Apache-2.0
#include "data/batch_plan.h"

#include <map>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/generated_clips.h"

namespace myxtts {
namespace {

const GptConfig kGpt;

// Every batch of an epoch on one rank.
std::vector<PlannedBatch> epoch_of(const BatchPlan& plan, std::int64_t epoch) {
  std::vector<PlannedBatch> batches;
  DataPosition position{epoch, 0};
  while (position.epoch == epoch) {
    batches.push_back(plan.batch(position));
    position = plan.next(position);
  }
  EXPECT_EQ(position, (DataPosition{epoch + 1, 0}));
  EXPECT_EQ(std::ssize(batches), plan.steps_per_epoch(epoch));
  return batches;
}

TEST(BatchPlan, VisitsEveryClipExactlyOnceAnEpochOnAnyNumberOfRanks) {
  const Corpus corpus = Corpus::of(test::generated_clips(301));
  for (const std::int64_t ranks : {1, 2, 3, 8}) {
    for (const std::int64_t epoch : {0, 1, 2}) {
      std::multiset<ClipNumber> seen;
      std::set<std::size_t> steps;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const BatchPlan plan(corpus, kGpt,
                             {.batch_size = 8, .seed = 7, .rank = rank, .world_size = ranks});
        const auto batches = epoch_of(plan, epoch);
        steps.insert(batches.size());
        for (const PlannedBatch& batch : batches) {
          EXPECT_LE(std::ssize(batch.clips), 8);
          seen.insert(batch.clips.begin(), batch.clips.end());
        }
      }
      EXPECT_EQ(seen.size(), 301U) << ranks << " ranks, epoch " << epoch;
      EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 301U);
      EXPECT_EQ(steps.size(), 1U) << "ranks differ in steps";
    }
  }
}

}  // namespace
}  // namespace myxtts
