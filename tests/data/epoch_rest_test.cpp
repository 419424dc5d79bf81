// SPDX-License-Identifier: Apache-2.0
//
// Epochs whose batches change on the way: Note [An epoch divided anew].
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "data/batches/batch_plan.h"
#include "data/batches/epoch_plan.h"
#include "data/generated_clips.h"
#include "support/effort.h"

namespace myxtts::epoch_rest_test {
namespace {

const GptConfig kGpt;

using Visits = std::vector<std::pair<ClipNumber, std::uint32_t>>;

// The visits of an epoch in the order that these settings give it.
Visits order_of(const Corpus& corpus, const BatchSettings& settings, std::int64_t epoch) {
  const auto groups = corpus.training_groups();
  const EpochPlanner planner({groups.begin(), groups.end()}, RowLengths(corpus, groups, kGpt),
                             settings);
  Visits visits;
  for (const Visit& visit : planner.plan(epoch).visits)
    visits.emplace_back(visit.clip, visit.repeat);
  return visits;
}

// The visits of one step, of all ranks, sorted: ranks are dealt theirs by length.
Visits step_of(const BatchPlan& plan, DataPosition position) {
  Visits visits;
  for (const PlannedBatch& batch : plan.batches_of_ranks(position)) {
    EXPECT_LE(std::ssize(batch.clips), plan.slots());
    for (std::size_t i = 0; i < batch.clips.size(); ++i) {
      visits.emplace_back(batch.clips[i], batch.repeats[i]);
    }
  }
  std::ranges::sort(visits);
  return visits;
}

// What is next in the order: as many visits as the step has.
Visits next_of(const Visits& order, std::size_t done, std::size_t count) {
  const auto from = order.begin() + static_cast<std::ptrdiff_t>(std::min(done, order.size()));
  const auto left = static_cast<std::size_t>(order.end() - from);
  Visits visits(from, from + static_cast<std::ptrdiff_t>(std::min(count, left)));
  std::ranges::sort(visits);
  return visits;
}

// Takes `steps` steps, or those up to the end of the epoch, and holds each against the order. Where
// the next plan goes on; nothing: the epoch ended.
std::optional<EpochStart> take(const BatchPlan& plan, std::int64_t epoch, std::int64_t steps,
                               const Visits& order, std::size_t& done) {
  DataPosition position{epoch, 0};
  for (; steps > 0 && position.epoch == epoch; --steps, position = plan.next(position)) {
    const Visits step = step_of(plan, position);
    EXPECT_FALSE(step.empty());
    EXPECT_EQ(step, next_of(order, done, step.size())) << "behind " << done << " visits";
    done += step.size();
  }
  if (position.epoch != epoch) return std::nullopt;
  return plan.rest_from(position);
}

BatchSettings clips(std::int64_t batch_size, std::int64_t world_size = 1) {
  return {.batch_size = batch_size, .seed = 5, .world_size = world_size};
}

TEST(EpochRest, RanksOrClipsMayChangeTwiceAndEveryVisitIsMadeOnceInTheSameOrder) {
  const Corpus corpus = Corpus::of(test::generated_clips(101));
  for (const auto& changes : {std::vector{clips(4), clips(6), clips(2)},
                              std::vector{clips(4, 2), clips(4, 3), clips(4, 1)},
                              std::vector{clips(1), clips(300), clips(300)}}) {
    const Visits order = order_of(corpus, changes[0], 3);
    std::size_t done = 0;
    auto start = take(BatchPlan(corpus, kGpt, changes[0]), 3, 5, order, done);
    ASSERT_TRUE(start);
    EXPECT_EQ(start->visits, static_cast<std::int64_t>(done));
    const BatchPlan second(corpus, kGpt, changes[1], *start);
    start = take(second, 3, second.steps_per_epoch(3) / 2, order, done);
    ASSERT_TRUE(start);
    EXPECT_FALSE(take(BatchPlan(corpus, kGpt, changes[2], *start), 3, 1000, order, done));
    EXPECT_EQ(done, order.size());
  }
}

TEST(EpochRest, TheNextEpochIsAsIfTheNewSettingsHadAlwaysBeen) {
  const Corpus corpus = Corpus::of(test::generated_clips(50));
  const EpochStart start = BatchPlan(corpus, kGpt, clips(4)).rest_from({2, 3});
  const BatchPlan changed(corpus, kGpt, clips(6), start);
  const BatchPlan always(corpus, kGpt, clips(6));
  for (const std::int64_t epoch : {1, 3, 4}) {
    ASSERT_EQ(changed.steps_per_epoch(epoch), always.steps_per_epoch(epoch));
    for (std::int64_t step = 0; step < always.steps_per_epoch(epoch); ++step) {
      EXPECT_EQ(changed.batch({epoch, step}).clips, always.batch({epoch, step}).clips);
    }
  }
  EXPECT_EQ(changed.steps_per_epoch(2), (50 - 12 + 5) / 6);
}

TEST(EpochRest, AnEpochThatHasNotBegunIsLeftToTheNewSettings) {
  const Corpus corpus = Corpus::of(test::generated_clips(50));
  const BatchPlan plan(corpus, kGpt, clips(4));
  EXPECT_EQ(plan.rest_from({2, 0}), EpochStart{.epoch = 2});
  const DataPosition behind = plan.next({1, plan.steps_per_epoch(1) - 1});
  EXPECT_EQ(plan.rest_from(behind), EpochStart{.epoch = 2});
}

TEST(EpochRest, TheSameSettingsGoOnWithTheVerySameSteps) {
  const Corpus corpus = Corpus::of(test::generated_clips(61));
  for (const auto& tokens : {std::optional<std::int64_t>(), std::optional<std::int64_t>(2500)}) {
    const BatchSettings settings{.batch_size = 4, .batch_tokens = tokens, .seed = 8};
    const BatchPlan whole(corpus, kGpt, settings);
    const BatchPlan rest(corpus, kGpt, settings, whole.rest_from({0, 5}));
    ASSERT_EQ(rest.steps_per_epoch(0), whole.steps_per_epoch(0) - 5);
    for (std::int64_t step = 5; step < whole.steps_per_epoch(0); ++step) {
      EXPECT_EQ(rest.batch({0, step - 5}).clips, whole.batch({0, step}).clips);
      EXPECT_EQ(rest.rest_from({0, step - 5}), whole.rest_from({0, step}));
    }
  }
}

TEST(EpochRest, AnOrderThatWasDealtByLengthIsKept) {
  const Corpus corpus = Corpus::of(test::generated_clips(40));
  const auto groups = corpus.training_groups();
  const EpochPlanner planner({groups.begin(), groups.end()}, RowLengths(corpus, groups, kGpt),
                             clips(6));
  const EpochPlan dealt = planner.dealt(1);
  ASSERT_EQ(dealt.order.dealt, 6);
  const BatchPlan rest(corpus, kGpt, clips(5),
                       {.epoch = 1, .visits = dealt.visits_before(3), .order = dealt.order});
  std::vector<ClipNumber> expected;
  for (std::size_t i = 18; i < dealt.visits.size(); ++i) expected.push_back(dealt.visits[i].clip);
  std::vector<ClipNumber> found;
  for (DataPosition at{1, 0}; at.epoch == 1; at = rest.next(at)) {
    const PlannedBatch batch = rest.batch(at);
    found.insert(found.end(), batch.clips.begin(), batch.clips.end());
  }
  EXPECT_EQ(found, expected);
}

TEST(EpochRest, AStateThatLeavesNothingOfItsEpochIsADataError) {
  const Corpus corpus = Corpus::of(test::generated_clips(10));
  EXPECT_THROW(BatchPlan(corpus, kGpt, clips(2), {.epoch = 0, .visits = 10, .order = EpochOrder{}}),
               DataError);
}

// Epochs of a few giants among dwarfs, whose first order was refused because a step was beyond the
// limit: what other settings may well have taken.
TEST(EpochRest, AStepThatWouldBeBeyondTheLimitEndsEarlier) {
  auto rows = test::generated_clips(64);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].text_tokens = i % 16 == 0 ? 400 : 2;
    rows[i].source_frames = i % 16 == 0 ? 600'000 : 11'025;
  }
  const Corpus corpus = Corpus::of(rows);
  const BatchSettings settings{.batch_size = 8, .seed = 11};
  const auto groups = corpus.training_groups();
  const EpochPlanner planner({groups.begin(), groups.end()}, RowLengths(corpus, groups, kGpt),
                             settings);
  int found = 0;
  for (std::int64_t epoch = 0; epoch < 300; ++epoch) {
    if (planner.plan(epoch).order.attempt == 0) continue;
    ++found;
    const EpochPlanner given({groups.begin(), groups.end()}, RowLengths(corpus, groups, kGpt),
                             settings, {.epoch = epoch, .order = EpochOrder{}});
    const EpochPlan rest = given.plan(epoch);
    EXPECT_EQ(rest.visits.size(), 64U);
    EXPECT_GT(rest.ends.size(), 8U);
    for (std::int64_t step = 0; step < std::ssize(rest.ends); ++step) {
      EXPECT_LE(given.lengths().total(rest.step(step)).tokens, given.bound().tokens);
    }
  }
  EXPECT_GT(found, 0);
}

std::vector<ClipRow> odd_clips(const RandomStream& random) {
  auto rows = test::generated_clips(static_cast<std::size_t>(random.integer(0, 3, 90)),
                                    static_cast<std::uint64_t>(random.integer(1, 0, 1000)));
  const bool has_giants = random.integer(2, 0, 1) == 1;
  for (std::size_t i = 0; has_giants && i < rows.size(); i += 7) {
    rows[i].text_tokens = 400;
    rows[i].source_frames = 600'000;
  }
  return rows;
}

Corpus odd_corpus(const RandomStream& random) {
  constexpr double kWeights[] = {1.0, 0.4, 2.6};
  std::vector<CorpusPiece> pieces;
  pieces.push_back({.index = ClipIndex::of(ClipIndexContent{.rows = odd_clips(random)}),
                    .name = "",
                    .weight = kWeights[random.integer(3, 0, 2)]});
  return Corpus(std::move(pieces));
}

BatchSettings odd_settings(const RandomStream& random, std::uint64_t draw) {
  BatchSettings settings{.batch_size = random.integer(draw, 1, 12),
                         .seed = 3,
                         .world_size = random.integer(draw + 1, 1, 4)};
  if (random.integer(draw + 2, 0, 3) == 0)
    settings.batch_tokens = random.integer(draw + 3, 2600, 9000);
  return settings;
}

TEST(EpochRest, WhateverChangesEveryVisitIsMadeOnceInOneOrderAndFits) {
  for (int round = 0; round < test::repetitions(300); ++round) {
    const RandomStream random(static_cast<std::uint64_t>(round), "odd corpora");
    const Corpus corpus = odd_corpus(random);
    const std::int64_t epoch = random.integer(4, 0, 5);
    BatchSettings settings = odd_settings(random, 100);
    const Visits order = order_of(corpus, settings, epoch);
    std::size_t done = 0;
    std::optional<EpochStart> start = EpochStart{};
    for (std::uint64_t change = 0; start; ++change) {
      // batch() finds a size for each batch, or fails.
      const BatchPlan plan(corpus, kGpt, settings, *start);
      const std::int64_t steps = random.integer(200 + change, 1, 6);
      start = take(plan, epoch, steps, order, done);
      settings = odd_settings(random, 1000 + 10 * change);
    }
    EXPECT_EQ(done, order.size()) << "round " << round;
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace myxtts::epoch_rest_test
