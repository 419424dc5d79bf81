// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batch_plan.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/batches/epoch_order.h"
#include "data/batches/epoch_plan.h"
#include "data/generated_clips.h"

namespace myxtts::batch_plan_test {
namespace {

using VisitSet = std::multiset<std::pair<ClipNumber, std::uint32_t>>;

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

void add_visits(const PlannedBatch& batch, VisitSet& visits) {
  ASSERT_EQ(batch.clips.size(), batch.repeats.size());
  for (std::size_t i = 0; i < batch.clips.size(); ++i) {
    visits.emplace(batch.clips[i], batch.repeats[i]);
  }
}

VisitSet visits_in(const std::vector<PlannedBatch>& batches) {
  VisitSet visits;
  for (const PlannedBatch& batch : batches) add_visits(batch, visits);
  return visits;
}

std::vector<ClipNumber> clips_in(const std::vector<PlannedBatch>& batches) {
  std::vector<ClipNumber> clips;
  for (const auto& batch : batches) {
    clips.insert(clips.end(), batch.clips.begin(), batch.clips.end());
  }
  return clips;
}

VisitSet each_once(std::size_t clips) {
  VisitSet visits;
  for (ClipNumber clip = 0; clip < clips; ++clip) visits.emplace(clip, 0);
  return visits;
}

std::int64_t tokens_of(const Corpus& corpus, const PlannedBatch& batch) {
  std::int64_t tokens = 0;
  for (const ClipNumber number : batch.clips) {
    const ClipView clip = corpus.clip(number);
    tokens += 32 + (clip.text_tokens + 1) + ((clip.samples + 1023) / 1024 + 4);
  }
  return tokens;
}

bool same(const PlannedBatch& a, const PlannedBatch& b) {
  return a.position == b.position && a.clips == b.clips && a.repeats == b.repeats &&
         a.sizes == b.sizes;
}

TEST(BatchPlan, VisitsEveryClipExactlyOnceAnEpochOnAnyNumberOfRanks) {
  constexpr std::size_t kClips = 301;
  const Corpus corpus = Corpus::of(test::generated_clips(kClips));
  for (const std::int64_t ranks : {1, 2, 3, 8}) {
    std::deque<BatchPlan> plans;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      plans.emplace_back(
          corpus, kGpt,
          BatchSettings{.batch_size = 8, .seed = 7, .rank = rank, .world_size = ranks});
    }
    for (const std::int64_t epoch : {0, 1, 2}) {
      VisitSet seen;
      std::set<std::size_t> steps;
      for (const BatchPlan& plan : plans) {
        const auto batches = epoch_of(plan, epoch);
        steps.insert(batches.size());
        for (const PlannedBatch& batch : batches) {
          EXPECT_LE(std::ssize(batch.clips), plan.slots());
          add_visits(batch, seen);
        }
      }
      EXPECT_EQ(seen, each_once(kClips)) << ranks << " ranks, epoch " << epoch;
      EXPECT_EQ(steps.size(), 1U) << "ranks differ in their number of steps";
    }
  }
}

TEST(BatchPlan, AStepHasTheSameClipsForEveryDivisionIntoRanks) {
  const Corpus corpus = Corpus::of(test::generated_clips(150));
  const BatchPlan alone(corpus, kGpt, {.batch_size = 32, .seed = 3});
  std::deque<BatchPlan> four;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    four.emplace_back(corpus, kGpt,
                      BatchSettings{.batch_size = 8, .seed = 3, .rank = rank, .world_size = 4});
  }
  for (const std::int64_t epoch : {0, 5}) {
    ASSERT_EQ(alone.steps_per_epoch(), four[0].steps_per_epoch());
    for (std::int64_t step = 0; step < alone.steps_per_epoch(); ++step) {
      VisitSet together;
      for (const BatchPlan& plan : four) add_visits(plan.batch({epoch, step}), together);
      EXPECT_EQ(together, visits_in({alone.batch({epoch, step})})) << "step " << step;
    }
  }
}

TEST(BatchPlan, APositionInTheMiddleOfAnEpochContinuesIdentically) {
  const Corpus corpus = Corpus::of(test::generated_clips(100));
  for (const auto& tokens : {std::optional<std::int64_t>(), std::optional<std::int64_t>(2000)}) {
    const BatchSettings settings{.batch_size = 8, .batch_tokens = tokens, .seed = 9};
    const BatchPlan whole(corpus, kGpt, settings);
    std::vector<PlannedBatch> expected;
    DataPosition position;
    for (int i = 0; i < 40; ++i, position = whole.next(position)) {
      expected.push_back(whole.batch(position));
    }
    ASSERT_GE(position.epoch, 2);
    for (const std::size_t start : {5U, 13U, 14U, 29U}) {
      const BatchPlan resumed(corpus, kGpt, settings);
      DataPosition at = expected[start].position;
      for (std::size_t i = start; i < expected.size(); ++i, at = resumed.next(at)) {
        EXPECT_TRUE(same(resumed.batch(at), expected[i])) << start << " " << i;
      }
    }
  }
}

TEST(BatchPlan, TheOrderIsRandomAndDiffersByEpochAndSeed) {
  const Corpus corpus = Corpus::of(test::generated_clips(200));
  const BatchPlan plan(corpus, kGpt, {.batch_size = 8, .seed = 1});
  const auto first = clips_in(epoch_of(plan, 0));
  const auto second = clips_in(epoch_of(plan, 1));
  const auto other = clips_in(epoch_of(BatchPlan(corpus, kGpt, {.batch_size = 8, .seed = 2}), 0));
  const auto fixed_points = [](const auto& a, const auto& b) {
    int count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i];
    return count;
  };
  std::vector<ClipNumber> in_order(200);
  for (ClipNumber i = 0; i < 200; ++i) in_order[i] = i;
  // Two random orders agree in one place on average; more than 8 has a chance of one in a million.
  EXPECT_LE(fixed_points(first, in_order), 8);
  EXPECT_LE(fixed_points(first, second), 8);
  EXPECT_LE(fixed_points(first, other), 8);
}

TEST(BatchPlan, WithoutShufflingClipsComeInTheirOrder) {
  const Corpus corpus = Corpus::of(test::generated_clips(30));
  const std::vector<ClipNumber> chosen = {3, 1, 20, 7, 5};
  const BatchPlan plan(corpus, chosen, kGpt, {.batch_size = 2, .shuffle = false});
  EXPECT_EQ(clips_in(epoch_of(plan, 0)), chosen);
  EXPECT_EQ(clips_in(epoch_of(plan, 4)), chosen);
}

TEST(BatchPlan, EveryBatchFitsTheSizeItIsGivenAndThereAreAtMostEight) {
  const Corpus corpus = Corpus::of(test::generated_clips(260));
  for (const std::int64_t batch_size : {1, 3, 8, 32, 400}) {
    const BatchPlan plan(corpus, kGpt, {.batch_size = batch_size, .seed = 4});
    ASSERT_GE(plan.sizes().size(), 1U);
    EXPECT_LE(plan.sizes().size(), 8U);
    for (std::int64_t epoch = 0; epoch < 150; ++epoch) {
      for (const PlannedBatch& batch : epoch_of(plan, epoch)) {
        EXPECT_LE(tokens_of(corpus, batch), batch.sizes.tokens);
        EXPECT_NE(std::ranges::find(plan.sizes(), batch.sizes), plan.sizes().end());
      }
    }
  }
}

TEST(BatchPlan, NoTokenCountIsBelowTheLeastThatIsAskedFor) {
  const Corpus corpus = Corpus::of(test::generated_clips(260));
  const BatchPlan usual(corpus, kGpt, {.batch_size = 8, .seed = 4});
  const std::int64_t middle = usual.sizes()[4].tokens;
  for (const std::int64_t least : {middle, 3 * usual.sizes().back().tokens}) {
    const BatchPlan plan(corpus, kGpt, {.batch_size = 8, .least_tokens = least, .seed = 4});
    EXPECT_GE(plan.sizes().front().tokens, least);
    EXPECT_LT(plan.useful_share(), usual.useful_share());
    for (const PlannedBatch& batch : epoch_of(plan, 2)) {
      EXPECT_LE(tokens_of(corpus, batch), batch.sizes.tokens);
    }
  }
}

TEST(BatchPlan, PackedRowsFitTheSizesOfTheirBatch) {
  const Corpus corpus = Corpus::of(test::generated_clips(60));
  const BatchPlan plan(corpus, kGpt, {.batch_size = 16, .seed = 4});
  for (const bool drop : {false, true}) {  // a clip found bad when it is decoded is left out
    for (const PlannedBatch& batch : epoch_of(plan, 1)) {
      std::vector<std::vector<std::int64_t>> ids;
      ids.reserve(2 * batch.clips.size());
      std::vector<GptClip> rows;
      for (std::size_t i = drop ? batch.clips.size() : 0; i < batch.clips.size(); ++i) {
        const ClipView clip = corpus.clip(batch.clips[i]);
        const auto& text = ids.emplace_back(clip.text_tokens, 5);
        const auto& codes = ids.emplace_back((clip.samples + 1023) / 1024, 6);
        rows.push_back({.text = text, .codes = codes});
      }
      const GptRows packed = pack_rows(kGpt, rows, PromptMask::None, batch.sizes);
      EXPECT_EQ(std::ssize(packed.tokens), batch.sizes.tokens);
      EXPECT_EQ(std::ssize(packed.text_targets), batch.sizes.text_targets);
      EXPECT_EQ(std::ssize(packed.audio_targets), batch.sizes.audio_targets);
      EXPECT_EQ(std::ssize(packed.lengths), batch.sizes.segments);
      EXPECT_EQ(packed.longest, batch.sizes.longest);
    }
  }
}

TEST(BatchPlan, MostTokensComputedAreUsefulOnLargeAndSmallCorpora) {
  for (const std::size_t clips : {3000U, 300U}) {
    const Corpus corpus = Corpus::of(test::generated_clips(clips));
    for (const auto& [batch_size, share] : {std::pair<std::int64_t, double>{32, 0.97}, {8, 0.95}}) {
      const BatchPlan plan(corpus, kGpt, {.batch_size = batch_size, .seed = 1});
      std::int64_t useful = 0;
      std::int64_t computed = 0;
      for (const std::int64_t epoch : {0, 1000, 1001, 1002}) {  // most of them never simulated
        for (const PlannedBatch& batch : epoch_of(plan, epoch)) {
          useful += tokens_of(corpus, batch);
          computed += batch.sizes.tokens;
        }
      }
      EXPECT_GE(static_cast<double>(useful) / static_cast<double>(computed), share)
          << clips << " clips, batches of " << batch_size;
      EXPECT_GE(plan.useful_share(), share);
    }
  }
}

TEST(BatchPlan, ATokenBudgetIsNeverExceededAndVisitsEveryClip) {
  constexpr std::size_t kClips = 200;
  const Corpus corpus = Corpus::of(test::generated_clips(kClips));
  for (const std::int64_t ranks : {1, 3}) {
    VisitSet seen;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const BatchPlan plan(corpus, kGpt,
                           {.batch_tokens = 3000, .seed = 2, .rank = rank, .world_size = ranks});
      for (const PlannedBatch& batch : epoch_of(plan, 3)) {
        EXPECT_LE(tokens_of(corpus, batch), 3000);
        EXPECT_LE(batch.sizes.tokens, 3000);
        EXPECT_LE(std::ssize(batch.clips), plan.slots());
        add_visits(batch, seen);
      }
      if (ranks == 1) {
        EXPECT_GE(plan.useful_share(), 0.95);
      }
    }
    EXPECT_EQ(seen, each_once(kClips));
  }
}

TEST(BatchPlan, ATokenBudgetBelowTheLongestClipIsAConfigError) {
  const Corpus corpus = Corpus::of(test::generated_clips(200));
  try {
    const BatchPlan plan(corpus, kGpt, {.batch_tokens = 100});
    FAIL() << "a budget of 100 tokens was accepted";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("--batch-tokens 100"), std::string::npos);
  }
}

TEST(BatchPlan, NoClipsOrAClipTooLongForTheModelIsADataError) {
  const Corpus none = Corpus::of({});
  EXPECT_THROW(BatchPlan(none, kGpt, {.batch_size = 4}), DataError);
  auto clips = test::generated_clips(3);
  clips[1].text_tokens = 403;
  EXPECT_THROW(BatchPlan(Corpus::of(clips), kGpt, {.batch_size = 4}), DataError);
}

TEST(EpochPlanner, VisitsDealtByLengthFitTheLimitOfEveryStep) {
  for (const double weight : {1.0, 0.37, 2.6}) {
    auto clips = test::generated_clips(123);
    for (std::size_t i = 0; i < clips.size(); i += 9) clips[i].text_tokens = 400;
    std::vector<CorpusPiece> pieces;
    pieces.push_back(
        {.index = ClipIndex::of(ClipIndexContent{.rows = clips}), .name = "", .weight = weight});
    const Corpus corpus(std::move(pieces));
    const auto groups = corpus.training_groups();
    for (const std::int64_t ranks : {1, 3}) {
      const EpochPlanner planner({groups.begin(), groups.end()}, RowLengths(corpus, groups, kGpt),
                                 {.batch_size = 5, .world_size = ranks});
      for (const std::int64_t epoch : {0, 1, 100}) {
        const EpochPlan plan = planner.dealt(epoch);
        EXPECT_EQ(std::ssize(plan.visits), planner.visits());
        for (std::int64_t step = 0; step < std::ssize(plan.ends); ++step) {
          for (const auto& share : planner.shares(plan.step(step))) {
            EXPECT_LE(planner.lengths().total(share).tokens, planner.bound().tokens);
          }
        }
        const auto sorted = [](std::vector<Visit> visits) {
          std::ranges::sort(visits, {}, [](const Visit& v) { return std::pair(v.clip, v.repeat); });
          return visits;
        };
        EXPECT_EQ(sorted(plan.visits), sorted(visits_of_epoch(groups, epoch)));
      }
    }
  }
}

// Lengths that no order can spread well: a few giants among dwarfs.
TEST(BatchPlan, ACorpusOfGiantsAndDwarfsStillFits) {
  auto clips = test::generated_clips(64);
  for (std::size_t i = 0; i < clips.size(); ++i) {
    clips[i].text_tokens = i % 16 == 0 ? 400 : 2;
    clips[i].source_frames = i % 16 == 0 ? 600'000 : 11'025;
  }
  const Corpus corpus = Corpus::of(clips);
  for (const std::int64_t batch_size : {2, 8, 60}) {
    const BatchPlan plan(corpus, kGpt, {.batch_size = batch_size, .seed = 11});
    for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
      const auto batches = epoch_of(plan, epoch);
      EXPECT_EQ(visits_in(batches), each_once(clips.size()));
      for (const PlannedBatch& batch : batches) {
        EXPECT_LE(tokens_of(corpus, batch), plan.sizes().back().tokens);
      }
    }
  }
}

}  // namespace
}  // namespace myxtts::batch_plan_test
