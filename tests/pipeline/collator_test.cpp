// SPDX-License-Identifier: Apache-2.0
#include "pipeline/collator.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/error.h"
#include "pipeline/clip_loader.h"
#include "support/blocked_thread.h"
#include "support/memory_corpus.h"

namespace myxtts::collator_test {
namespace {

using test::BlockedThread;
using test::fake_codes;
using test::MemoryCorpus;
using test::tiny_gpt;

LoadedBatch settled(const MemoryCorpus& corpus, DataPosition position) {
  LoadedBatch batch{.number = 5, .planned = corpus.batch(position), .clips = {}};
  for (const ClipNumber number : batch.planned.clips) {
    batch.clips.push_back(std::get<LoadedClip>(load_clip(corpus, number, tiny_gpt().code_stride)));
  }
  return batch;
}

HostBatch collate(const MemoryCorpus& corpus, const LoadedBatch& batch, StagingPool& pool,
                  PromptMask mask = PromptMask::Clip) {
  LaidOutBatch laid_out = lay_out(corpus, {.gpt = tiny_gpt(), .mask = mask}, batch);
  const std::size_t bytes = laid_out.block_bytes();
  return write_into(std::move(*pool.claim(bytes)), std::move(laid_out), batch);
}

// The rows as pack_rows() makes them when all codes are known.
GptRows whole_rows(const MemoryCorpus& corpus, const LoadedBatch& batch, PromptMask mask) {
  std::vector<std::vector<std::int64_t>> codes;
  std::vector<GptClip> clips;
  codes.reserve(batch.clips.size());
  for (const LoadedClip& clip : batch.clips) {
    const auto found = fake_codes(clip.samples());
    codes.emplace_back(found.begin(), found.end());
    clips.push_back(
        {.text = clip.text,
         .codes = codes.back(),
         .prompt = corpus.prompt(batch.planned.position.epoch, corpus.clip(clip.number), 0)});
  }
  return pack_rows(tiny_gpt(), clips, mask, batch.planned.sizes);
}

std::vector<std::int64_t> completed_tokens(const HostBatch& host,
                                           const std::vector<std::int64_t>& codes) {
  std::vector<std::int64_t> tokens(host.rows.tokens.begin(), host.rows.tokens.end());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    tokens.at(static_cast<std::size_t>(host.code_tokens[i])) = codes[i] + tiny_gpt().text_ids;
  }
  return tokens;
}

std::vector<std::int64_t> completed_targets(const HostBatch& host,
                                            const std::vector<std::int64_t>& codes) {
  std::vector<std::int64_t> targets(host.rows.audio_targets.begin(), host.rows.audio_targets.end());
  for (std::size_t i = 0; i < host.code_targets.size(); ++i) {
    targets.at(static_cast<std::size_t>(host.code_targets[i])) =
        codes.at(static_cast<std::size_t>(host.code_target_codes[i]));
  }
  return targets;
}

std::vector<std::int64_t> unknown_codes(const HostBatch& host) {
  std::vector<std::int64_t> codes;
  for (const HostClip& clip : host.host_clips) {
    if (clip.codes_known) continue;
    EXPECT_EQ(clip.first_code, static_cast<std::int64_t>(codes.size()));
    const auto found =
        fake_codes(host.samples.subspan(static_cast<std::size_t>(clip.first_sample),
                                        static_cast<std::size_t>(clip.source_samples)));
    EXPECT_EQ(static_cast<std::int64_t>(found.size()), clip.codes);
    codes.insert(codes.end(), found.begin(), found.end());
  }
  return codes;
}

class RowLayout : public testing::TestWithParam<PromptMask> {};

TEST_P(RowLayout, RowsThatAreCompletedLaterAreTheRowsThatKnewTheirCodes) {
  const MemoryCorpus corpus({.clips = 12, .batch_size = 5});
  StagingPool pool(2, plain_memory);
  for (const DataPosition position : {DataPosition{0, 0}, DataPosition{1, 2}}) {
    const LoadedBatch batch = settled(corpus, position);
    const HostBatch host = collate(corpus, batch, pool, GetParam());
    const GptRows rows = whole_rows(corpus, batch, GetParam());
    const std::vector<std::int64_t> codes = unknown_codes(host);
    EXPECT_EQ(host.code_tokens.size(), codes.size());
    EXPECT_EQ(completed_tokens(host, codes), rows.tokens);
    EXPECT_EQ(completed_targets(host, codes), rows.audio_targets);
    EXPECT_TRUE(std::ranges::equal(host.rows.positions, rows.positions));
    EXPECT_TRUE(std::ranges::equal(host.rows.segment_ends, rows.segment_ends));
    EXPECT_TRUE(std::ranges::equal(host.rows.target_rows, rows.target_rows));
    EXPECT_TRUE(std::ranges::equal(host.rows.text_targets, rows.text_targets));
    EXPECT_TRUE(std::ranges::equal(host.rows.text_clips, rows.text_clips));
    EXPECT_TRUE(std::ranges::equal(host.rows.audio_clips, rows.audio_clips));
    EXPECT_EQ(host.rows.lengths, rows.lengths);
    EXPECT_EQ(host.rows.longest, rows.longest);
    EXPECT_EQ(host.rows.counts, rows.counts);
  }
}

INSTANTIATE_TEST_SUITE_P(Masks, RowLayout,
                         testing::Values(PromptMask::None, PromptMask::Clip, PromptMask::Peer));

TEST(RowLayout, CodesFromTheCacheAreInTheRowsAlready) {
  const MemoryCorpus corpus({.clips = 12, .batch_size = 5, .fill_cache = true});
  StagingPool pool(1, plain_memory);
  const LoadedBatch batch = settled(corpus, {0, 0});
  const HostBatch host = collate(corpus, batch, pool);
  const GptRows rows = whole_rows(corpus, batch, PromptMask::Clip);
  EXPECT_TRUE(host.code_tokens.empty());
  EXPECT_TRUE(host.code_targets.empty());
  EXPECT_TRUE(std::ranges::equal(host.rows.tokens, rows.tokens));
  EXPECT_TRUE(std::ranges::equal(host.rows.audio_targets, rows.audio_targets));
}

// Two speakers by turns, and prompts that are swapped.
class TwoVoices final : public MemoryCorpus {
 public:
  using MemoryCorpus::MemoryCorpus;
  bool swaps_prompts() const override { return true; }
  std::int64_t speaker(const ClipView& clip) const override { return voice_of(clip.id); }
  static std::int64_t voice_of(std::string_view id) { return id.back() % 2; }
};

TEST(RowLayout, WithSwappedPromptsARowHearsAnotherClipOfItsSpeaker) {
  const TwoVoices corpus({.clips = 12, .batch_size = 12});
  const LoadedBatch batch = settled(corpus, {0, 0});
  const LaidOutBatch laid_out =
      lay_out(corpus, {.gpt = tiny_gpt(), .mask = PromptMask::None}, batch);
  const std::vector<HostClip>& clips = laid_out.host_clips;
  std::vector<int> heard(clips.size(), 0);
  for (std::size_t row = 0; row < clips.size(); ++row) {
    ASSERT_LT(clips[row].prompt_row, clips.size());
    EXPECT_NE(clips[row].prompt_row, row);
    EXPECT_EQ(TwoVoices::voice_of(corpus.clip(clips[clips[row].prompt_row].number).id),
              TwoVoices::voice_of(corpus.clip(clips[row].number).id));
    ++heard[clips[row].prompt_row];
  }
  EXPECT_EQ(heard, std::vector<int>(clips.size(), 1)) << "each prompt is used once";
}

TEST(RowLayout, AClipThatIsAloneOfItsSpeakerOrComesTwiceHearsNoOther) {
  const TwoVoices corpus({.clips = 12, .batch_size = 3});
  LoadedBatch batch = settled(corpus, {0, 0});
  batch.clips.resize(1);
  batch.clips.push_back(batch.clips.front());
  const LaidOutBatch laid_out =
      lay_out(corpus, {.gpt = tiny_gpt(), .mask = PromptMask::None}, batch);
  EXPECT_EQ(laid_out.host_clips[0].prompt_row, 0U);
  EXPECT_EQ(laid_out.host_clips[1].prompt_row, 1U);
}

TEST(RowLayout, UnlessPromptsAreSwappedARowHearsItself) {
  const MemoryCorpus corpus({.clips = 12, .batch_size = 5});
  const LoadedBatch batch = settled(corpus, {0, 0});
  const LaidOutBatch laid_out =
      lay_out(corpus, {.gpt = tiny_gpt(), .mask = PromptMask::None}, batch);
  for (std::size_t row = 0; row < 5; ++row) EXPECT_EQ(laid_out.host_clips[row].prompt_row, row);
}

TEST(RowLayout, EverySampleOfEveryClipIsInTheBlock) {
  const MemoryCorpus corpus({.clips = 12, .batch_size = 5});
  StagingPool pool(1, plain_memory);
  const HostBatch host = collate(corpus, settled(corpus, {0, 1}), pool);
  ASSERT_EQ(host.host_clips.size(), 5U);
  EXPECT_EQ(host.number, 5);
  EXPECT_EQ(host.position, (DataPosition{0, 1}));
  for (const HostClip& clip : host.host_clips) {
    EXPECT_TRUE(
        std::ranges::equal(host.samples.subspan(static_cast<std::size_t>(clip.first_sample),
                                                static_cast<std::size_t>(clip.source_samples)),
                           corpus.samples(clip.number)));
  }
  const auto inside = [&](const void* first, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(first);
    return from >= host.block->bytes().data() &&
           from + bytes <= host.block->bytes().data() + host.block->bytes().size();
  };
  EXPECT_TRUE(inside(host.samples.data(), host.samples.size_bytes()));
  EXPECT_TRUE(inside(host.code_target_codes.data(), host.code_target_codes.size_bytes()));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(host.rows.tokens.data()) % 64, 0U);
}

class ShiftedCorpus : public MemoryCorpus {
 public:
  using MemoryCorpus::MemoryCorpus;
  std::int64_t shift(std::int64_t, const ClipView& clip, std::uint32_t) const override {
    return 100 + static_cast<std::int64_t>(clip.samples % 7);
  }
};

TEST(RowLayout, AShiftedClipBeginsLaterAndEndsInAsMuchSilenceAndStandsThereWhole) {
  const ShiftedCorpus corpus({.clips = 12, .batch_size = 5});
  StagingPool pool(1, plain_memory);
  const HostBatch host = collate(corpus, settled(corpus, {0, 1}), pool);
  for (const HostClip& clip : host.host_clips) {
    const auto all = std::span(corpus.samples(clip.number));
    const auto by = static_cast<std::size_t>(clip.shift);
    EXPECT_GE(clip.shift, 100);
    EXPECT_EQ(clip.source_samples, static_cast<std::int64_t>(all.size()));
    const auto sound =
        host.samples.subspan(static_cast<std::size_t>(clip.first_sample), all.size());
    EXPECT_TRUE(std::ranges::equal(sound.first(all.size() - by), all.subspan(by)));
    EXPECT_TRUE(std::ranges::all_of(sound.last(by), [](std::int16_t s) { return s == 0; }));
    const auto whole =
        host.samples.subspan(static_cast<std::size_t>(clip.first_sample) - by, all.size());
    EXPECT_TRUE(std::ranges::equal(whole, all));
  }
}

TEST(RowLayout, OfAClipWhoseCodesAreKnownOnlyThePromptTravels) {
  const MemoryCorpus corpus({.clips = 12, .batch_size = 5, .fill_cache = true});
  StagingPool pool(1, plain_memory);
  const HostBatch host = collate(corpus, settled(corpus, {0, 1}), pool);
  std::int64_t prompts = 0;
  for (const HostClip& clip : host.host_clips) {
    const auto first = static_cast<std::size_t>(clip.prompt.first);
    const auto count = static_cast<std::size_t>(clip.prompt.last - clip.prompt.first);
    EXPECT_EQ(clip.source_samples, static_cast<std::int64_t>(count));
    EXPECT_EQ(clip.first_sample, prompts);
    EXPECT_TRUE(
        std::ranges::equal(host.samples.subspan(static_cast<std::size_t>(clip.first_sample), count),
                           std::span(corpus.samples(clip.number)).subspan(first, count)));
    prompts += clip.source_samples;
  }
  EXPECT_EQ(static_cast<std::int64_t>(host.samples.size()), prompts);
}

TEST(RowLayout, AnEmptyBatchIsAllPadding) {
  const MemoryCorpus corpus;
  StagingPool pool(1, plain_memory);
  LoadedBatch batch = settled(corpus, {0, 0});
  batch.clips.clear();
  const HostBatch host = collate(corpus, batch, pool);
  EXPECT_EQ(static_cast<std::int64_t>(host.rows.tokens.size()), batch.planned.sizes.tokens);
  EXPECT_EQ(host.rows.counts, TargetCounts{});
  EXPECT_EQ(host.rows.text_count[0] * host.rows.audio_count[0], 1) << "no loss is divided by 0";
  EXPECT_TRUE(
      std::ranges::all_of(host.rows.audio_targets, [](auto target) { return target == -1; }));
}

// A collator with its queues.
struct Bench {
  explicit Bench(const MemoryCorpus& source, std::size_t blocks = 2)
      : corpus(source), pool(blocks, plain_memory) {}

  const MemoryCorpus& corpus;
  BoundedQueue<LoadedBatch> input{10};
  StagingPool pool;
  BoundedQueue<HostBatch> output{1};
  Collator collator{corpus, {.gpt = tiny_gpt(), .mask = PromptMask::None}, input, pool};
};

TEST(Collator, PassesBatchesOnInOrderUntilTheEnd) {
  const MemoryCorpus corpus;
  Bench bench(corpus);
  for (std::int64_t number = 0; number < 2; ++number) {
    LoadedBatch batch = settled(corpus, {0, number});
    batch.number = number;
    ASSERT_TRUE(bench.input.push(std::move(batch)));
  }
  bench.input.finish();
  BlockedThread thread([&] { bench.collator.run(bench.output); });
  EXPECT_EQ(bench.output.pop()->number, 0);
  EXPECT_EQ(bench.output.pop()->number, 1);
  EXPECT_FALSE(bench.output.pop().has_value());
  thread.join();
}

TEST(Collator, AFailureOfAStageBeforeItIsPassedOn) {
  const MemoryCorpus corpus;
  Bench bench(corpus);
  bench.input.fail(std::make_exception_ptr(DataError("clips/17.mp3 is empty.")));
  bench.collator.run(bench.output);
  EXPECT_THROW((void)bench.output.pop(), DataError);
}

TEST(Collator, AFailureOfItsOwnReachesBothSides) {
  const MemoryCorpus corpus;
  Bench bench(corpus);
  LoadedBatch batch = settled(corpus, {0, 0});
  batch.planned.sizes.tokens = 1;
  ASSERT_TRUE(bench.input.push(std::move(batch)));
  bench.collator.run(bench.output);
  EXPECT_THROW((void)bench.output.pop(), InternalError);
  EXPECT_FALSE(bench.input.push({})) << "the batcher has to leave";
}

TEST(Collator, LeavesWhateverItWaitsForWhenStopped) {
  const MemoryCorpus corpus;
  {
    Bench bench(corpus);  // for input
    BlockedThread thread([&] { bench.collator.run(bench.output); });
    thread.wait_until_asleep();
    bench.input.stop();
    thread.join();
  }
  {
    Bench bench(corpus, 1);  // for a block: the only one is in the output
    ASSERT_TRUE(bench.input.push(settled(corpus, {0, 0})));
    ASSERT_TRUE(bench.input.push(settled(corpus, {0, 1})));
    BlockedThread thread([&] { bench.collator.run(bench.output); });
    thread.wait_until_asleep();
    EXPECT_EQ(bench.pool.free_blocks(), 0U);
    bench.pool.stop();
    thread.join();
  }
  {
    Bench bench(corpus, 3);  // for room in the output
    ASSERT_TRUE(bench.input.push(settled(corpus, {0, 0})));
    ASSERT_TRUE(bench.input.push(settled(corpus, {0, 1})));
    BlockedThread thread([&] { bench.collator.run(bench.output); });
    thread.wait_until_asleep();
    EXPECT_EQ(bench.pool.free_blocks(), 1U);
    bench.output.stop();
    thread.join();
    EXPECT_EQ(bench.pool.free_blocks(), 3U) << "blocks of dropped batches come back";
  }
}

}  // namespace
}  // namespace myxtts::collator_test
