// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "device/cpu/cpu_role_device.h"
#include "model/dvae.h"
#include "model/network_specs.h"
#include "pipeline/corpus_batches.h"
#include "pipeline/data_pipeline.h"
#include "pipeline/feature_stage.h"
#include "pipeline/feature_writer.h"
#include "support/formula_weights.h"
#include "support/small_networks.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"
#include "support/training_batches.h"
#include "train/plain_training.h"
#include "train/trainer.h"

// The whole way of a run, from sound files to weights: nothing that a machine or a moment decides
// may change one bit of it.

namespace myxtts::pipeline_training_test {
namespace {

using test::cloned;
using test::same_tensors;

constexpr std::int64_t kSteps = 50;

struct RunOptions {
  std::size_t workers = 2;
  std::size_t buffer = 50;
  std::size_t ring = 3;
  int devices = 2;
  const FeatureCache* cache = nullptr;
  std::int64_t batch_size = 2;
  std::int64_t grad_accum = 2;
  double dropout = 0.1;
  std::int64_t last_step = kSteps;
  std::optional<std::int64_t> stop_after = {};      // batches; nothing: when the trainer is done
  const CheckpointContents* from = nullptr;         // a checkpoint
  std::function<void(DeviceBatch&)> on_batch = {};  // before it is trained
};

// What a run was, and what a checkpoint at its end would hold.
struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  CheckpointContents last;
};

class Curve final : public TrainingObserver {
 public:
  explicit Curve(Outcome& outcome) : outcome_(outcome) {}
  void stepped(const StepReport& report) override {
    outcome_.losses.push_back(report.numbers.loss);
    outcome_.norms.push_back(report.numbers.gradient_norm);
  }
  void evaluated(const EvaluationReport&) override {}

 private:
  Outcome& outcome_;
};

CheckpointContents kept(const CheckpointContents& contents) {
  CheckpointContents copy{.state = contents.state,
                          .weights = cloned(contents.weights),
                          .optimiser = cloned(contents.optimiser)};
  copy.state.seconds = 0;
  return copy;
}

class PipelineTraining : public testing::Test {
 protected:
  PipelineTraining() {
    at::set_num_threads(1);  // of what is done outside a device: threads that spin cost more
    test::write_tone_corpus(folder_ / "corpus", 11);  // no multiple of a batch, nor of a step
    data_.train_data = {{.path = folder_ / "corpus"}};
    data_.val_fraction = 0;
    corpus_.emplace(Corpus::open(data_, vocabulary_, folder_ / "index"));
    model_.dvae = test::small_dvae();
    model_.gpt = test::small_gpt();
    model_.gpt.text_ids = vocabulary_.rows();
    model_.gpt.start_text = vocabulary_.start();
    model_.gpt.stop_text = vocabulary_.stop();
    model_.gpt.start_audio = model_.dvae.codes;
    model_.gpt.stop_audio = model_.dvae.codes + 1;
    model_.gpt.audio_ids = model_.dvae.codes + 2;
    dvae_weights_ = test::formula_weights(dvae_specs(model_.dvae), "dvae");
    dvae_ = std::make_unique<Dvae>(model_.dvae, dvae_weights_);
    mel_stats_ = at::full({model_.gpt.mel_bands}, 1.5);
  }

  Outcome train(const RunOptions& options) const {
    const auto data = open_cpu_role_device(Role::Data, {.threads = 1});
    const auto model = open_cpu_role_device(Role::Model, {.threads = 1});
    RoleDevice& data_device = options.devices == 2 ? *data : *model;
    const BatchPlan plan(*corpus_, model_.gpt,
                         BatchSettings{.batch_size = options.batch_size, .seed = 2});
    CorpusBatches batches(*corpus_, plan, vocabulary_, data_, {.cache = options.cache});
    FeatureStage features(data_device, *model, BatchPath::PlainMemory,
                          {.gpt = model_.gpt,
                           .clips = plan.slots(),
                           .rows = plan.sizes().back(),
                           .dvae = dvae_.get(),
                           .mel_stats = mel_stats_});
    DataPipeline<FeatureStage> pipeline(batches, features, pipeline_options(options));

    auto settings = test::plain_settings();
    settings.dropout = options.dropout;
    settings.slots = plan.slots();
    settings.step.batches_a_step = options.grad_accum;
    const auto training =
        make_gpt_training(model_.gpt, test::random_gpt_weights(model_.gpt), *model, settings);
    TrainingState start;
    if (options.from != nullptr) {
      start = options.from->state;
      training->restore(start.step, options.from->weights, options.from->optimiser);
    }
    Trainer trainer(*training, trainer_settings(options, plan), start);
    Outcome outcome;
    Curve curve(outcome);
    trainer.observe(curve);

    pipeline.start(start.position);
    for (std::int64_t taken = 0; taken != options.stop_after && !trainer.done(); ++taken) {
      auto slot = pipeline.outlet().next();
      if (options.on_batch) options.on_batch(**slot);
      trainer.step(**slot);
    }
    outcome.last = kept(trainer.contents());
    return outcome;
  }

  PipelineOptions pipeline_options(const RunOptions& options) const {
    PipelineOptions settings;
    settings.gpt = model_.gpt;
    settings.batches_a_step = options.grad_accum;
    settings.workers = options.workers;
    settings.most_workers = options.workers;
    settings.buffer_batches = options.buffer;
    settings.ring_slots = options.ring;
    return settings;
  }

  static TrainerSettings trainer_settings(const RunOptions& options, const BatchPlan& plan) {
    return {.schedule = {.kind = ScheduleKind::Cosine,
                         .learning_rate = 1e-3,
                         .warmup_steps = 5,
                         .last_step = kSteps},
            .last_step = options.last_step,
            .next_position = [&plan](DataPosition position) { return plan.next(position); }};
  }

  // Every clip's features, as an earlier epoch would have left them.
  void fill(FeatureCache& cache) const {
    FeatureWriter writer(model_.dvae, dvae_weights_, mel_stats_, at::kCPU, cache);
    for (ClipNumber number = 0; number < corpus_->size(); ++number) {
      const ClipView clip = corpus_->clip(number);
      const auto sound = decode_clip(std::filesystem::path(clip.audio));
      ASSERT_TRUE(writer.add(clip.identity, std::get<DecodedClip>(sound)));
    }
  }

  test::TemporaryFolder folder_;
  Vocabulary vocabulary_ =
      Vocabulary::load(std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/vocab.json");
  DataConfig data_;
  ModelConfig model_ = model_preset("tiny");
  std::optional<Corpus> corpus_;
  NamedTensors dvae_weights_;
  std::unique_ptr<Dvae> dvae_;
  at::Tensor mel_stats_;
};

void expect_same(const Outcome& found, const Outcome& expected, const std::string& what) {
  EXPECT_EQ(found.losses, expected.losses) << what;
  EXPECT_EQ(found.norms, expected.norms) << what;
  EXPECT_EQ(found.last.state, expected.last.state) << what;
  EXPECT_TRUE(same_tensors(found.last.weights, expected.last.weights)) << what;
  EXPECT_TRUE(same_tensors(found.last.optimiser, expected.last.optimiser)) << what;
}

TEST_F(PipelineTraining, FiftyStepsAreTheSameForAnyWorkersBuffersDevicesCacheAndInterruption) {
  const Outcome expected = train({});
  ASSERT_EQ(expected.losses.size(), static_cast<std::size_t>(kSteps));
  EXPECT_LT(expected.losses.back(), expected.losses.front()) << "it learns";
  EXPECT_GT(expected.last.state.position.epoch, 10) << "over many epochs";
  expect_same(train({.workers = 1, .buffer = 1, .ring = 2, .devices = 1}), expected, "one of each");
  expect_same(train({.workers = 7, .buffer = 4, .ring = 8}), expected, "many workers");
  FeatureCache cache(folder_ / "cache", FeatureKey{7});
  fill(cache);
  expect_same(train({.cache = &cache}), expected, "cached");

  for (const std::int64_t stop : {31, 96}) {  // batches: in the middle of a step, and at its end
    const Outcome first = train({.stop_after = stop});
    Outcome whole = train({.workers = 1, .ring = 2, .from = &first.last});
    EXPECT_EQ(first.losses.size() + whole.losses.size(), static_cast<std::size_t>(kSteps));
    whole.losses.insert(whole.losses.begin(), first.losses.begin(), first.losses.end());
    whole.norms.insert(whole.norms.begin(), first.norms.begin(), first.norms.end());
    expect_same(whole, expected, "interrupted after batch " + std::to_string(stop));
  }
}

TEST_F(PipelineTraining, AccumulatedBatchesTrainAsTheLargerBatchDoes) {
  const Outcome large = train({.batch_size = 4, .grad_accum = 1, .dropout = 0, .last_step = 20});
  const Outcome small = train({.batch_size = 2, .grad_accum = 2, .dropout = 0, .last_step = 20});
  ASSERT_EQ(large.losses.size(), small.losses.size());
  for (std::size_t step = 0; step < large.losses.size(); ++step) {
    EXPECT_NEAR(small.losses[step] / large.losses[step], 1.0, 1e-5) << "step " << step + 1;
    EXPECT_NEAR(small.norms[step] / large.norms[step], 1.0, 1e-3) << "step " << step + 1;
  }
  EXPECT_EQ(large.last.state.position.epoch, small.last.state.position.epoch);
}

TEST_F(PipelineTraining, ANumberThatIsNoneInOneClipCostsThatStepAlone) {
  testing::internal::CaptureStderr();
  const Outcome outcome =
      train({.grad_accum = 1, .last_step = 8, .on_batch = [](DeviceBatch& batch) {
               if (batch.number != 4) return;
               batch.prompt_mel[1][40][100] = std::numeric_limits<float>::quiet_NaN();
             }});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("Step 5 was left out"), std::string::npos) << said;
  EXPECT_EQ(outcome.last.state.skipped_steps, 1);
  for (std::size_t step = 0; step < outcome.losses.size(); ++step) {
    EXPECT_EQ(std::isfinite(outcome.losses[step]), step != 4) << step;
  }
}

}  // namespace
}  // namespace myxtts::pipeline_training_test
