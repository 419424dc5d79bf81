// SPDX-License-Identifier: Apache-2.0
#include "pipeline/corpus_batches.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "base/error.h"
#include "pipeline/clip_loader.h"
#include "pipeline/collator.h"
#include "pipeline/data_pipeline.h"
#include "support/corpus_maker.h"
#include "support/effort.h"
#include "support/fake_features.h"
#include "support/memory_corpus.h"
#include "support/temporary_folder.h"

// Real files through the real stages: only the devices are missing.

namespace myxtts::corpus_batches_test {
namespace {

using test::as_16_bits;
using test::contents_of;
using test::FakeFeatures;
using test::hash_of;
using test::made_clips;
using test::MadeClip;
using test::TemporaryFolder;

// Reading it takes the thread sanitizer seconds.
const Vocabulary& shared_vocabulary() {
  static const Vocabulary vocabulary =
      Vocabulary::load(std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/vocab.json");
  return vocabulary;
}

// A corpus on disk, opened, and what it must sound like.
struct DiskCorpus {
  explicit DiskCorpus(std::size_t count, double max_skipped = 0.05) {
    const std::vector<MadeClip> clips = made_clips(count);
    config.train_data = {{.path = make_corpus(folder / "corpus", CorpusLayout::LjSpeech, clips)}};
    config.max_skipped = max_skipped;
    config.val_fraction = 0;
    for (const MadeClip& clip : clips) sounds.insert(hash_of(as_16_bits(clip.sound)));
    corpus.emplace(Corpus::open(config, vocabulary, folder / "index"));
    gpt.text_ids = static_cast<std::int64_t>(vocabulary.rows());
  }

  std::filesystem::path wav(ClipNumber number) const {
    return std::filesystem::path(corpus->clip(number).audio);
  }

  TemporaryFolder folder;
  const Vocabulary& vocabulary = shared_vocabulary();
  DataConfig config;
  GptConfig gpt;
  std::optional<Corpus> corpus;
  std::multiset<std::uint64_t> sounds;
};

// Counts decodes, by file.
class CountingBatches final : public BatchSource {
 public:
  explicit CountingBatches(CorpusBatches& batches) : batches_(batches) {}

  PlannedBatch batch(DataPosition position) const override { return batches_.batch(position); }
  DataPosition next(DataPosition position) const override { return batches_.next(position); }
  ClipView clip(ClipNumber number) const override { return batches_.clip(number); }
  std::vector<std::int64_t> text_ids(const ClipView& clip) const override {
    return batches_.text_ids(clip);
  }
  PromptSpan prompt(std::int64_t epoch, const ClipView& clip, std::uint32_t repeat) const override {
    return batches_.prompt(epoch, clip, repeat);
  }
  std::optional<CachedClip> cached(const ClipView& clip) const override {
    return batches_.cached(clip);
  }
  void read_ahead(const ClipView& clip) const override { batches_.read_ahead(clip); }
  std::variant<DecodedClip, Skipped> decode(const ClipView& clip) const override {
    {
      const std::lock_guard lock(mutex_);
      ++decodes_[std::string(clip.audio)];
    }
    return batches_.decode(clip);
  }
  void leave_out(ClipNumber number, const Skipped& skipped) override {
    batches_.leave_out(number, skipped);
  }

  std::map<std::string, int> decodes() const {
    const std::lock_guard lock(mutex_);
    return decodes_;
  }

 private:
  CorpusBatches& batches_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, int> decodes_;
};

struct Seen {
  DataPosition position;
  std::vector<std::uint64_t> sounds;
  std::uint64_t hash = 0;

  friend bool operator==(const Seen&, const Seen&) = default;
};

std::vector<Seen> run(BatchSource& source, const DiskCorpus& disk, std::size_t workers,
                      DataPosition from, DataPosition end, std::size_t most = SIZE_MAX) {
  FakeFeatures features(disk.gpt.text_ids);
  features.stride = disk.gpt.code_stride;
  PipelineOptions options;
  options.gpt = disk.gpt;
  options.end = end;
  options.workers = workers;
  options.most_workers = workers;
  DataPipeline<FakeFeatures> pipeline(source, features, options);
  pipeline.start(from);
  std::vector<Seen> batches;
  while (batches.size() < most) {
    const auto slot = pipeline.outlet().next();
    if (!slot) break;
    batches.push_back({(*slot)->position, (*slot)->sounds, (*slot)->hash});
  }
  return batches;
}

TEST(CorpusBatches, EveryClipIsHeardOnceAnEpochOverAllRanksAndEachFileDecodedOnce) {
  constexpr std::int64_t kEpochs = 3;
  const DiskCorpus disk(21);
  const bool everything = test::repetitions(10) == 10;
  const std::vector<std::int64_t> worlds =
      everything ? std::vector<std::int64_t>{1, 2, 3, 8} : std::vector<std::int64_t>{2};
  for (const std::int64_t ranks : worlds) {
    std::map<std::int64_t, std::vector<Seen>> of_rank;
    for (const std::size_t workers : {1U, 2U, 7U}) {
      std::map<std::int64_t, std::multiset<std::uint64_t>> heard;
      std::map<std::string, int> decodes;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const BatchPlan plan(*disk.corpus, disk.gpt,
                             {.batch_size = 2, .seed = 4, .rank = rank, .world_size = ranks});
        CorpusBatches batches(*disk.corpus, plan, disk.vocabulary, disk.config, {});
        CountingBatches counting(batches);
        const auto seen = run(counting, disk, workers, {}, {kEpochs, 0});
        for (const Seen& batch : seen) {
          heard[batch.position.epoch].insert(batch.sounds.begin(), batch.sounds.end());
        }
        for (const auto& [file, count] : counting.decodes()) decodes[file] += count;
        if (workers == 1) of_rank[rank] = seen;
        EXPECT_EQ(seen, of_rank[rank]) << workers << " workers change the batches";
      }
      for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) EXPECT_EQ(heard[epoch], disk.sounds);
      EXPECT_EQ(decodes.size(), disk.sounds.size());
      for (const auto& [file, count] : decodes) EXPECT_EQ(count, kEpochs) << file;
    }
  }
}

TEST(CorpusBatches, APositionSavedInMidEpochContinuesIdentically) {
  const DiskCorpus disk(17);
  const BatchPlan plan(*disk.corpus, disk.gpt, {.batch_size = 3});
  CorpusBatches batches(*disk.corpus, plan, disk.vocabulary, disk.config, {});
  const auto whole = run(batches, disk, 2, {}, {2, 0});
  const auto first = run(batches, disk, 7, {}, {2, 0}, 8);
  const auto rest = run(batches, disk, 1, plan.next(first.back().position), {2, 0});
  ASSERT_EQ(first.size() + rest.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const Seen& batch = i < 8 ? first[i] : rest[i - 8];
    EXPECT_EQ(batch.position, whole[i].position);
    EXPECT_EQ(batch.sounds, whole[i].sounds);
  }
}

TEST(CorpusBatches, AFileThatBreaksAfterTheScanIsListedOnceAndTheOthersGoOn) {
  const DiskCorpus disk(21);
  const auto broken = disk.wav(5);
  test::write_text(broken, "no sound at all");
  const BatchPlan plan(*disk.corpus, disk.gpt, {.batch_size = 4});
  const auto list = disk.folder / "skipped.jsonl";
  SkipList left_out(disk.config, disk.corpus->skipped(), list);
  CorpusBatches batches(*disk.corpus, plan, disk.vocabulary, disk.config, {.left_out = &left_out});
  const auto seen = run(batches, disk, 2, {}, {2, 0});
  std::size_t clips = 0;
  for (const Seen& batch : seen) clips += batch.sounds.size();
  EXPECT_EQ(clips, 2U * 20U);
  EXPECT_EQ(left_out.size(), 1);
  const std::string text = contents_of(list);
  EXPECT_NE(text.find(broken.filename().string()), std::string::npos) << text;
  EXPECT_NE(text.find("unreadable"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(CorpusBatches, ADiskThatIsGoneInMidEpochBecomesAnErrorThatCounts) {
  const DiskCorpus disk(40);
  const BatchPlan plan(*disk.corpus, disk.gpt, {.batch_size = 4});
  SkipList left_out(disk.config, disk.corpus->skipped(), disk.folder / "skipped.jsonl");
  CorpusBatches batches(*disk.corpus, plan, disk.vocabulary, disk.config, {.left_out = &left_out});
  std::size_t seen = 0;
  try {
    FakeFeatures features(disk.gpt.text_ids);
    features.stride = disk.gpt.code_stride;
    PipelineOptions options;
    options.gpt = disk.gpt;
    options.buffer_batches = 1;
    DataPipeline<FakeFeatures> pipeline(batches, features, options);
    pipeline.start({});
    while (auto slot = pipeline.outlet().next()) {
      if (++seen == 2) std::filesystem::remove_all(disk.wav(0).parent_path());
    }
    FAIL() << "an endless run cannot end";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("3 of 40 clips cannot be used"), std::string::npos)
        << error.what();
  }
  EXPECT_GE(seen, 2U);
}

TEST(CorpusBatches, PromptsFollowFromSeedEpochClipAndRepeatOrAreThoseOfEvaluation) {
  const DiskCorpus disk(3);
  const BatchPlan plan(*disk.corpus, disk.gpt, {.batch_size = 3});
  const CorpusBatches training(*disk.corpus, plan, disk.vocabulary, disk.config,
                               {.prompt_seed = 9});
  const CorpusBatches evaluation(*disk.corpus, plan, disk.vocabulary, disk.config,
                                 {.prompt_seed = std::nullopt});
  const ClipView clip = disk.corpus->clip(1);
  const auto at = [&](const CorpusBatches& batches, std::int64_t epoch, std::uint32_t repeat) {
    const PromptSpan span = batches.prompt(epoch, clip, repeat);
    return std::pair(span.first, span.last);
  };
  EXPECT_EQ(at(training, 0, 0), at(training, 0, 0));
  EXPECT_NE(at(training, 0, 0), at(training, 1, 0));
  EXPECT_NE(at(training, 0, 0), at(training, 0, 1));
  EXPECT_EQ(at(evaluation, 0, 0), at(evaluation, 5, 1));
  EXPECT_EQ(at(evaluation, 0, 0).first, 0);
}

// All that a batch takes of a clip besides its sound and text, as the stages lay it out.
struct DrawnRow {
  std::int64_t first = 0;  // of the prompt
  std::int64_t last = 0;
  std::int64_t shift = 0;
  std::vector<std::int64_t> windows;

  friend bool operator==(const DrawnRow&, const DrawnRow&) = default;
};
using DrawnRows = std::map<std::tuple<std::int64_t, ClipNumber, std::uint32_t>, DrawnRow>;

LaidOutBatch laid_out_of(const CorpusBatches& source, const PlannedBatch& planned,
                         const PipelineOptions& layout) {
  LoadedBatch batch{.number = 0, .planned = planned, .clips = {}};
  for (std::size_t i = 0; i < planned.clips.size(); ++i) {
    batch.clips.push_back(
        std::get<LoadedClip>(load_clip(source, planned.clips[i], layout.gpt.code_stride)));
    batch.clips.back().repeat = planned.repeats[i];
  }
  return lay_out(source, layout, batch);
}

void add_rows(const CorpusBatches& source, const PlannedBatch& planned,
              const PipelineOptions& layout, DrawnRows& rows) {
  const WindowPlan& windows = layout.windows;
  const LaidOutBatch laid_out = laid_out_of(source, planned, layout);
  for (std::size_t i = 0; i < planned.clips.size(); ++i) {
    const HostClip& clip = laid_out.host_clips[i];
    DrawnRow row{
        .first = clip.prompt.first, .last = clip.prompt.last, .shift = clip.shift, .windows = {}};
    const auto begin =
        laid_out.windows.starts.begin() + static_cast<std::ptrdiff_t>(i) * windows.per_clip;
    row.windows.assign(begin, begin + windows.per_clip);
    const auto [place, is_new] = rows.emplace(
        std::tuple(planned.position.epoch, clip.number, planned.repeats[i]), std::move(row));
    EXPECT_TRUE(is_new) << "clip " << clip.number << " came twice";
  }
}

// With other settings a clip has another rank, another place in its batch and other neighbours.
TEST(CorpusBatches, ARowFollowsFromSeedEpochClipAndRepeatWhateverItsRankAndPlace) {
  const DiskCorpus disk(9);
  const PipelineOptions layout{
      .gpt = disk.gpt,
      .windows =
          plan_windows({.stage = ModelPart::Dvae, .windows_per_clip = 2, .window = 0.1}, {}, 9)};
  const auto rows_of = [&](std::int64_t batch_size, std::int64_t ranks) {
    DrawnRows rows;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const BatchPlan plan(
          *disk.corpus, disk.gpt,
          {.batch_size = batch_size, .seed = 4, .rank = rank, .world_size = ranks});
      const CorpusBatches source(*disk.corpus, plan, disk.vocabulary, disk.config,
                                 {.prompt_seed = 4, .shift = true});
      for (DataPosition at; at.epoch < 2; at = plan.next(at)) {
        add_rows(source, plan.batch(at), layout, rows);
      }
    }
    return rows;
  };
  const DrawnRows expected = rows_of(9, 1);
  EXPECT_EQ(expected.size(), 18U);
  std::set<std::int64_t> shifts;
  for (const auto& [visit, row] : expected) shifts.insert(row.shift);
  EXPECT_GT(shifts.size(), 9U) << "nothing was drawn";
  for (const auto& [batch_size, ranks] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 2}, {2, 3}, {4, 4}}) {
    EXPECT_EQ(rows_of(batch_size, ranks), expected) << ranks << " ranks with " << batch_size;
  }
}

TEST(CorpusBatches, SwappedPromptsAreOfOneVoiceAlsoWhereNobodyWasTrainedOn) {
  const TemporaryFolder folder;
  const auto corpus_of = [&](const std::string& name, const std::string& one,
                             const std::string& other) {
    std::vector<MadeClip> clips = made_clips(4);
    for (std::size_t i = 0; i < clips.size(); ++i) clips[i].speaker = i % 2 == 0 ? one : other;
    return CorpusSource{.path = make_corpus(folder / name, CorpusLayout::CoquiCsv, clips)};
  };
  DataConfig config;
  config.train_data = {corpus_of("a", "ann", "mia")};
  config.val_data = {corpus_of("b", "joe", "kim"), corpus_of("c", "joe", "ann")};
  const Corpus corpus = Corpus::open(config, shared_vocabulary(), folder / "index");
  const SpeakerTable speakers(corpus);
  GptConfig gpt;
  gpt.text_ids = static_cast<std::int64_t>(shared_vocabulary().rows());
  const BatchPlan plan(corpus, corpus.validation(), gpt, {.batch_size = 8, .shuffle = false});
  const CorpusBatches source(
      corpus, plan, shared_vocabulary(), config,
      {.prompt_seed = std::nullopt, .swap_prompts = true, .speakers = &speakers});
  const LaidOutBatch laid_out = laid_out_of(source, plan.batch({}), {.gpt = gpt});
  const std::vector<HostClip>& clips = laid_out.host_clips;
  ASSERT_EQ(clips.size(), 8U);
  for (std::size_t row = 0; row < clips.size(); ++row) {
    EXPECT_NE(clips[row].prompt_row, row);
    const ClipView own = corpus.clip(clips[row].number);
    const ClipView heard = corpus.clip(clips[clips[row].prompt_row].number);
    EXPECT_EQ(std::pair(heard.manifest, heard.speaker), std::pair(own.manifest, own.speaker));
  }
}

TEST(CorpusBatches, OnlyTrainingClipsThatAreAskedToAreShifted) {
  const DiskCorpus disk(3);
  const BatchPlan plan(*disk.corpus, disk.gpt, {.batch_size = 3});
  const auto shifts = [&](const CorpusBatchesOptions& options) {
    const CorpusBatches batches(*disk.corpus, plan, disk.vocabulary, disk.config, options);
    std::int64_t sum = 0;
    for (std::int64_t epoch = 0; epoch < 9; ++epoch) {
      sum += batches.shift(epoch, disk.corpus->clip(1), 0);
    }
    return sum;
  };
  EXPECT_GT(shifts({.prompt_seed = 9, .shift = true}), 0);
  EXPECT_EQ(shifts({.prompt_seed = 9}), 0);
  EXPECT_EQ(shifts({.prompt_seed = std::nullopt, .shift = true}), 0);
}

TEST(CorpusBatches, OnlyTrainingClipsThatAreAskedToHaveNoise) {
  const DiskCorpus disk(3);
  const BatchPlan plan(*disk.corpus, disk.gpt, {.batch_size = 3});
  const auto replaced = [&](const CorpusBatchesOptions& options) {
    const CorpusBatches batches(*disk.corpus, plan, disk.vocabulary, disk.config, options);
    return batches.noise(4, disk.corpus->clip(1), 0, 100, 16).size();
  };
  EXPECT_GT(replaced({.prompt_seed = 9, .noise = 0.5}), 20U);
  EXPECT_EQ(replaced({.prompt_seed = 9}), 0U);
  EXPECT_EQ(replaced({.prompt_seed = std::nullopt, .noise = 0.5}), 0U);
}

TEST(CorpusBatches, ANewEpochLearnsWhatOthersHaveCached) {
  const DiskCorpus disk(3);
  const BatchPlan plan(*disk.corpus, disk.gpt, {.batch_size = 3});
  FeatureCache own(disk.folder / "cache", FeatureKey{3});
  const CorpusBatches batches(*disk.corpus, plan, disk.vocabulary, disk.config, {.cache = &own});
  const ClipView clip = disk.corpus->clip(1);
  FeatureCache of_another_process(disk.folder / "cache", FeatureKey{3});
  ASSERT_TRUE(of_another_process.add(clip.identity, std::vector<std::int16_t>{1, 2, 3},
                                     std::vector<std::uint16_t>{4}));
  EXPECT_FALSE(batches.cached(clip).has_value());
  batches.begin_epoch(1);
  EXPECT_TRUE(batches.cached(clip).has_value());
}

}  // namespace
}  // namespace myxtts::corpus_batches_test
