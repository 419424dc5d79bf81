// SPDX-License-Identifier: Apache-2.0
#include "pipeline/collator.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "pipeline_bench.h"

namespace myxtts::step_targets_test {
namespace {

using test::BenchOptions;
using test::fake_codes;
using test::FakeFeatures;
using test::FakePipeline;
using test::MemoryCorpus;
using test::MemoryCorpusOptions;
using test::tiny_gpt;

// Ten batches an epoch, the last one smaller.
constexpr std::size_t kClips = 38;

PipelineOptions row_options(PromptMask mask, std::int64_t batches) {
  return {.gpt = tiny_gpt(), .mask = mask, .batches_a_step = batches};
}

// What pack_rows() counts in one batch.
TargetCounts packed(const MemoryCorpus& corpus, DataPosition position, PromptMask mask) {
  std::vector<std::vector<std::int64_t>> texts;
  std::vector<std::vector<std::int64_t>> codes;
  std::vector<GptClip> rows;
  const PlannedBatch planned = corpus.batch(position);
  for (const ClipNumber number : planned.clips) {
    texts.push_back(corpus.text_ids(corpus.clip(number)));
    const auto found = fake_codes(corpus.samples(number));
    codes.emplace_back(found.begin(), found.end());
  }
  for (std::size_t i = 0; i < planned.clips.size(); ++i) {
    rows.push_back({.text = texts[i],
                    .codes = codes[i],
                    .prompt = corpus.prompt(position.epoch, corpus.clip(planned.clips[i]), 0)});
  }
  const GptRows made = pack_rows(tiny_gpt(), rows, mask, planned.sizes);
  return made.counts;
}

class StepTargetsOfAMask : public testing::TestWithParam<PromptMask> {};

TEST_P(StepTargetsOfAMask, AreTheSumOfWhatEachBatchOfTheStepCounts) {
  const MemoryCorpus corpus({.clips = kClips});
  StepTargets steps(corpus, row_options(GetParam(), 4));
  for (std::int64_t first = 0; first < 10; first += 4) {
    TargetCounts sum;
    const std::int64_t last = std::min<std::int64_t>(first + 4, 10);
    for (std::int64_t step = first; step < last; ++step) {
      const TargetCounts own = packed(corpus, {1, step}, GetParam());
      sum.text += own.text;
      sum.audio += own.audio;
    }
    for (std::int64_t step = last - 1; step >= first; --step) {
      EXPECT_EQ(steps.planned({1, step}), sum) << "batch " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Masks, StepTargetsOfAMask,
                         testing::Values(PromptMask::None, PromptMask::Clip, PromptMask::Peer));

TEST(StepTargets, MasksCountDifferently) {
  const MemoryCorpus corpus({.clips = kClips});
  const auto audio = [&](PromptMask mask) {
    return StepTargets(corpus, row_options(mask, 4)).planned({0, 0}).audio;
  };
  EXPECT_LT(audio(PromptMask::Clip), audio(PromptMask::Peer));
  EXPECT_LT(audio(PromptMask::Peer), audio(PromptMask::None));
}

TEST(StepTargets, AStepEndsWithItsLastBatchOrWithTheEpoch) {
  const MemoryCorpus corpus({.clips = kClips});
  const StepTargets steps(corpus, row_options(PromptMask::None, 4));
  std::vector<std::int64_t> ends;
  for (std::int64_t step = 0; step < 10; ++step) {
    if (steps.ends_step({3, step})) ends.push_back(step);
  }
  EXPECT_EQ(ends, (std::vector<std::int64_t>{3, 7, 9}));
}

constexpr std::size_t kStepClips = 12;

MemoryCorpusOptions rank_of(std::int64_t rank, std::int64_t ranks) {
  return {.clips = kClips,
          .batch_size = kStepClips / static_cast<std::size_t>(ranks),
          .rank = rank,
          .world_size = ranks};
}

TEST_P(StepTargetsOfAMask, AreTheSumOfWhatAllRanksCountAndEveryRankKnowsIt) {
  for (const std::int64_t batches : {1, 2}) {
    for (std::int64_t ranks = 1; ranks <= 4; ++ranks) {
      for (std::int64_t first = 0; first < 4; first += batches) {
        TargetCounts sum;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          const MemoryCorpus corpus(rank_of(rank, ranks));
          for (std::int64_t step = first; step < first + batches; ++step) {
            const TargetCounts own = packed(corpus, {1, step}, GetParam());
            sum.text += own.text;
            sum.audio += own.audio;
          }
        }
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          const MemoryCorpus corpus(rank_of(rank, ranks));
          EXPECT_EQ(StepTargets(corpus, row_options(GetParam(), batches)).planned({1, first}), sum)
              << "rank " << rank << " of " << ranks;
        }
      }
    }
  }
}

// But for PeerSlip, which masks the last row of each batch: ranks have more last ones.
TEST(StepTargets, AreTheSameNumberForEveryNumberOfRanks) {
  for (const auto mask : {PromptMask::None, PromptMask::Clip}) {
    const MemoryCorpus alone(rank_of(0, 1));
    for (std::int64_t step = 0; step < 4; ++step) {
      const TargetCounts whole = packed(alone, {1, step}, mask);
      for (std::int64_t ranks = 1; ranks <= 4; ++ranks) {
        const MemoryCorpus corpus(rank_of(ranks - 1, ranks));
        EXPECT_EQ(StepTargets(corpus, row_options(mask, 1)).planned({1, step}), whole)
            << ranks << " ranks, step " << step;
      }
    }
  }
}

// What a trainer adds up: a number for each target, divided by the batch's count.
struct Added {
  double loss = 0;   // of a step's batches
  double plain = 0;  // the numbers alone
  std::int64_t targets = 0;
  std::int64_t batches = 0;
};

std::vector<Added> train(MemoryCorpus& corpus, const BenchOptions& options,
                         DataPosition position = {}) {
  FakeFeatures features(tiny_gpt().text_ids);
  FakePipeline pipeline(corpus, features, test::pipeline_options(options));
  pipeline.start(position);
  std::vector<Added> steps(1);
  while (const auto slot = pipeline.outlet().next()) {
    Added& step = steps.back();
    double sum = 0;
    for (const std::int64_t target : (*slot)->audio_targets) {
      if (target < 0) continue;
      sum += 1.0 + static_cast<double>(target % 7);
      ++step.targets;
    }
    step.plain += sum;
    step.loss += sum / static_cast<double>((*slot)->audio_count);
    ++step.batches;
    if ((*slot)->ends_step) steps.emplace_back();
  }
  steps.pop_back();
  return steps;
}

TEST(StepTargets, TheLossesOfAStepsBatchesAddUpToTheMeanOfOneLargeBatch) {
  MemoryCorpus corpus({.clips = kClips});
  const auto steps = train(corpus, {.batches_a_step = 4});
  ASSERT_EQ(steps.size(), 3U);
  for (const Added& step : steps) {
    EXPECT_DOUBLE_EQ(step.loss, step.plain / static_cast<double>(step.targets));
  }
  EXPECT_EQ(steps[0].batches, 4);
  EXPECT_EQ(steps[2].batches, 2) << "what is left of the epoch";
}

TEST(StepTargets, ARunThatBeginsAtAnyStepHasTheSameSteps) {
  MemoryCorpus corpus({.clips = kClips});
  const auto whole = train(corpus, {.end = DataPosition{2, 0}, .batches_a_step = 3});
  ASSERT_EQ(whole.size(), 8U);
  const auto rest = train(corpus, {.end = DataPosition{2, 0}, .batches_a_step = 3}, {0, 9});
  ASSERT_EQ(rest.size(), 5U);
  for (std::size_t step = 0; step < rest.size(); ++step) {
    EXPECT_EQ(rest[step].loss, whole[step + 3].loss);
    EXPECT_EQ(rest[step].batches, whole[step + 3].batches);
  }
}

TEST(StepTargets, TheLossesOfAllRanksAddUpToTheMeanOfOneLargeBatch) {
  for (const std::int64_t batches : {1, 3}) {
    MemoryCorpus corpus(rank_of(0, 1));
    const auto alone = train(corpus, {.batches_a_step = batches});
    for (std::int64_t ranks = 2; ranks <= 4; ++ranks) {
      std::vector<double> losses(alone.size());
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        MemoryCorpus share(rank_of(rank, ranks));
        const auto steps = train(share, {.batches_a_step = batches});
        ASSERT_EQ(steps.size(), alone.size());
        for (std::size_t step = 0; step < steps.size(); ++step) losses[step] += steps[step].loss;
      }
      for (std::size_t step = 0; step < losses.size(); ++step) {
        EXPECT_NEAR(losses[step], alone[step].loss, 1e-12) << ranks << " ranks, step " << step;
      }
    }
  }
}

// The clip at the last place of the second batch.
ClipNumber bad_clip(const MemoryCorpus& corpus) {
  return corpus.batch({0, 1}).clips.back();
}

TEST(StepTargets, ABadClipKeepsItsPlaceInTheCountOfAStepOfSeveralBatches) {
  MemoryCorpus corpus({.clips = kClips});
  const auto whole = train(corpus, {.batches_a_step = 4});
  const ClipNumber bad = bad_clip(corpus);
  corpus.on_decode = [bad](ClipNumber number) -> std::optional<Skipped> {
    if (number != bad) return std::nullopt;
    return Skipped{.file = "bad"};
  };
  const auto steps = train(corpus, {.batches_a_step = 4});
  ASSERT_EQ(steps.size(), whole.size());
  EXPECT_LT(steps[0].targets, whole[0].targets);
  EXPECT_DOUBLE_EQ(steps[0].loss, steps[0].plain / static_cast<double>(whole[0].targets));
  const auto single = train(corpus, {.batches_a_step = 1});
  EXPECT_DOUBLE_EQ(single[1].loss, single[1].plain / static_cast<double>(single[1].targets));
}

TEST(StepTargets, ABadClipKeepsItsPlaceInTheCountOfSeveralRanks) {
  MemoryCorpus alone(rank_of(0, 1));
  const auto whole = train(alone, {});
  const ClipNumber bad = MemoryCorpus(rank_of(1, 2)).batch({0, 1}).clips.front();
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    MemoryCorpus share(rank_of(rank, 2));
    share.on_decode = [bad](ClipNumber number) -> std::optional<Skipped> {
      if (number != bad) return std::nullopt;
      return Skipped{.file = "bad"};
    };
    const auto steps = train(share, {});
    EXPECT_DOUBLE_EQ(steps[1].loss, steps[1].plain / static_cast<double>(whole[1].targets));
  }
}

}  // namespace
}  // namespace myxtts::step_targets_test
