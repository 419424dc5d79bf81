// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/checksum.h"
#include "device/cpu/cpu_role_device.h"
#include "model/dvae.h"
#include "model/network_specs.h"
#include "pipeline/corpus_batches.h"
#include "pipeline/data_pipeline.h"
#include "pipeline/feature_stage.h"
#include "pipeline/feature_writer.h"
#include "support/corpus_maker.h"
#include "support/formula_weights.h"
#include "support/temporary_folder.h"

// The whole way, files to tensors: every number the trainer would see, whatever the threads do.

namespace myxtts::batch_stream_test {
namespace {

using test::SoundFormat;
using test::TemporaryFolder;

std::uint64_t hash_of(const DeviceBatch& batch) {
  FastChecksum sum;
  const GptBatch& rows = batch.rows;
  for (const at::Tensor& tensor :
       {rows.segment_ends, rows.tokens, rows.positions, rows.target_rows, rows.text_targets,
        rows.text_clips, rows.audio_targets, rows.audio_clips, rows.text_count, rows.audio_count,
        batch.prompt_mel}) {
    const at::Tensor here = tensor.contiguous();
    sum.add({static_cast<const std::byte*>(here.const_data_ptr()), here.nbytes()});
  }
  for (const ClipNumber clip : batch.clips) sum.add(std::as_bytes(std::span(&clip, 1)));
  const std::int64_t facts[] = {batch.number,
                                batch.position.epoch,
                                batch.position.step,
                                rows.clips,
                                rows.longest,
                                batch.ends_step,
                                std::bit_cast<std::int64_t>(batch.audio_seconds)};
  sum.add(std::as_bytes(std::span(facts)));
  sum.add(std::as_bytes(std::span(rows.lengths)));
  return sum.value();
}

struct StreamOptions {
  std::size_t workers = 2;
  std::size_t buffer = 50;
  std::size_t ring = 3;
  int devices = 2;
  FeatureCache* cache = nullptr;
  bool fill_cache = false;
  DataPosition end = {2, 0};
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
  bool shared = false;  // one pipeline for all ranks
  DataPosition start = {};
  int data_threads = 1;
};

using Hashes = std::vector<std::uint64_t>;

// A corpus of two rates and formats on disk, and networks of the smallest size.
class BatchStream : public testing::Test {
 protected:
  BatchStream() {
    auto clips = test::made_clips(10);
    const auto wav = make_corpus(folder_ / "wav", CorpusLayout::LjSpeech, clips);
    for (auto& clip : clips) {
      clip.sound = test::made_sound(1.5, 77 + clip.name.back(), 44'100, 2);
    }
    const auto flac =
        make_corpus(folder_ / "flac", CorpusLayout::LjSpeech, clips, SoundFormat::Flac16);
    config_.train_data = {{.path = wav}, {.path = flac}};
    config_.val_fraction = 0;
    corpus_.emplace(Corpus::open(config_, vocabulary_, folder_ / "index"));
    model_.gpt.text_ids = static_cast<std::int64_t>(vocabulary_.rows());
    weights_ = test::formula_weights(dvae_specs(model_.dvae), "dvae");
    dvae_ = std::make_unique<Dvae>(model_.dvae, weights_);
    mel_stats_ = at::full({model_.gpt.mel_bands}, 1.5);
  }

  Hashes run(const StreamOptions& options) { return run_all(options).front(); }

  // What each trainer sees: one, or all ranks' where they share the pipeline.
  std::vector<Hashes> run_all(const StreamOptions& options) {
    const auto data = open_cpu_role_device(Role::Data, {.threads = options.data_threads});
    std::vector<std::unique_ptr<RoleDevice>> models;
    std::vector<BatchTarget> targets;
    for (std::int64_t trainer = 0; trainer < (options.shared ? options.world_size : 1); ++trainer) {
      models.push_back(open_cpu_role_device(Role::Model, {.threads = 2}));
      targets.push_back({.model = options.devices == 2 ? *models.back() : *data});
    }
    const BatchPlan plan(
        *corpus_, model_.gpt,
        {.batch_size = 4, .seed = 2, .rank = options.rank, .world_size = options.world_size});
    CorpusBatches batches(*corpus_, plan, vocabulary_, config_, {.cache = options.cache});
    FeatureStage features(*data, targets,
                          {.gpt = model_.gpt,
                           .clips = plan.slots(),
                           .rows = plan.sizes().back(),
                           .dvae = dvae_.get(),
                           .mel_stats = mel_stats_});
    if (options.fill_cache) features.keep_in(*options.cache, 100);
    PipelineOptions settings;
    settings.gpt = model_.gpt;
    settings.end = options.end;
    settings.workers = options.workers;
    settings.most_workers = options.workers;
    settings.buffer_batches = options.buffer;
    settings.ring_slots = options.ring;
    settings.trainers.resize(targets.size());
    DataPipeline<FeatureStage> pipeline(batches, features, settings);
    pipeline.start(options.start);
    std::vector<Hashes> hashes(targets.size());
    {
      std::vector<std::jthread> trainers;
      for (std::size_t trainer = 0; trainer < targets.size(); ++trainer) {
        trainers.emplace_back([&, trainer] {
          while (auto slot = pipeline.outlet(trainer).next())
            hashes[trainer].push_back(hash_of(**slot));
        });
      }
    }
    for (std::size_t trainer = 0; trainer < targets.size(); ++trainer) {
      pipeline.outlet(trainer).finish();
    }
    return hashes;
  }

  TemporaryFolder folder_;
  Vocabulary vocabulary_ =
      Vocabulary::load(std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/vocab.json");
  DataConfig config_;
  ModelConfig model_ = model_preset("tiny");
  std::optional<Corpus> corpus_;
  NamedTensors weights_;
  std::unique_ptr<Dvae> dvae_;
  at::Tensor mel_stats_;
};

TEST_F(BatchStream, IsTheSameForAnyWorkersBufferRingAndNumberOfDevices) {
  const auto expected = run({.workers = 1, .buffer = 1, .ring = 2, .devices = 1});
  ASSERT_EQ(expected.size(), 10U);
  EXPECT_NE(expected[0], expected[5]) << "two epochs differ";
  for (const StreamOptions& options : {StreamOptions{.workers = 1},
                                       {.workers = 2, .buffer = 1, .ring = 8},
                                       {.workers = 7, .ring = 2},
                                       {.workers = 7, .buffer = 1},
                                       {.ring = 8, .devices = 1}}) {
    EXPECT_EQ(run(options), expected)
        << options.workers << " workers, buffer " << options.buffer << ", ring " << options.ring
        << ", devices " << options.devices;
  }
}

// One data device, and for each rank a model device of its own. In each place every tensor of every
// batch is compared, and what else a trainer is told of it.
TEST_F(BatchStream, OfRanksThatShareADataDeviceIsThatOfTheirOwnPipelines) {
  for (const auto& [ranks, start] : {std::pair(2, DataPosition{0, 0}), {2, {0, 1}}, {3, {1, 0}}}) {
    std::vector<Hashes> apart;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      apart.push_back(run({.rank = rank, .world_size = ranks, .start = start}));
    }
    ASSERT_GE(apart[0].size(), 2U);
    ASSERT_NE(apart[0], apart[1]);
    StreamOptions shared{.world_size = ranks, .shared = true, .start = start, .data_threads = 2};
    FeatureCache cache(folder_ / fmt::format("{}-{}", ranks, start.step), FeatureKey{7});
    shared.cache = &cache;
    shared.fill_cache = true;
    EXPECT_EQ(run_all(shared), apart) << ranks << " ranks, filling a cache";
    shared.fill_cache = false;
    EXPECT_EQ(run_all(shared), apart) << ranks << " ranks, from the cache";
    shared.cache = nullptr;
    EXPECT_EQ(run_all(shared), apart) << ranks << " ranks";
  }
}

TEST_F(BatchStream, IsTheSameWithAColdAndAWarmCache) {
  const auto cold = run({});
  FeatureCache cache(folder_ / "cache", FeatureKey{7});
  FeatureWriter writer(model_.dvae, weights_, mel_stats_, at::kCPU, cache);
  const auto fill = [&](ClipNumber first) {
    for (ClipNumber number = first; number < corpus_->size(); number += 2) {
      const ClipView clip = corpus_->clip(number);
      const auto sound = decode_clip(std::filesystem::path(clip.audio));
      ASSERT_TRUE(writer.add(clip.identity, std::get<DecodedClip>(sound)));
    }
  };
  fill(0);
  EXPECT_EQ(run({.cache = &cache}), cold) << "half of the clips cached";
  fill(1);
  EXPECT_EQ(run({.workers = 7, .cache = &cache}), cold) << "all clips cached";
}

TEST_F(BatchStream, IsTheSameWhileItFillsACacheThatIsWhatPrepareWouldFill) {
  const auto cold = run({});
  FeatureCache cache(folder_ / "filled", FeatureKey{7});
  EXPECT_EQ(run({.cache = &cache, .fill_cache = true}), cold) << "while the cache fills";
  ASSERT_EQ(cache.size(), corpus_->size());
  EXPECT_EQ(run({.cache = &cache}), cold) << "from the cache";

  FeatureCache prepared(folder_ / "prepared", FeatureKey{7});
  FeatureWriter writer(model_.dvae, weights_, mel_stats_, at::kCPU, prepared);
  for (ClipNumber number = 0; number < corpus_->size(); ++number) {
    const ClipView clip = corpus_->clip(number);
    const auto sound = decode_clip(std::filesystem::path(clip.audio));
    ASSERT_TRUE(writer.add(clip.identity, std::get<DecodedClip>(sound)));
    const auto found = cache.find(clip.identity);
    const auto expected = prepared.find(clip.identity);
    EXPECT_TRUE(std::ranges::equal(found->samples, expected->samples)) << clip.id;
    EXPECT_TRUE(std::ranges::equal(found->codes, expected->codes)) << clip.id;
  }
}

}  // namespace
}  // namespace myxtts::batch_stream_test
