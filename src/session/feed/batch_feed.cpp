// SPDX-License-Identifier: Apache-2.0
#include "session/feed/batch_feed.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/message_text.h"
#include "device/machine.h"
#include "session/run_inputs.h"

namespace myxtts {
namespace {

using Pipeline = DataPipeline<FeatureStage>;

constexpr std::size_t kValidationSlots = 2;   // the least that overlaps
constexpr std::size_t kValidationBuffer = 4;  // batches

// The model devices of all ranks of this process.
std::vector<BatchTarget> targets_of(const RunInputs& inputs) {
  std::vector<BatchTarget> targets;
  for (std::size_t place = 0; place < inputs.ranks(); ++place) {
    targets.push_back({.model = *inputs.devices(place).model, .path = inputs.plan(place).path});
  }
  return targets;
}

// Decoded samples of a batch of average training clips.
std::int64_t batch_bytes(const RunData& data) {
  std::int64_t frames = 0;
  for (const ClipNumber clip : data.corpus().training()) {
    frames += data.corpus().clip(clip).source_frames;
  }
  const auto clips = static_cast<std::int64_t>(data.corpus().training().size());
  return 2 * frames / std::max<std::int64_t>(1, clips) * data.training().batches.slots();
}

// What --buffer-size auto means for these clips and this memory.
std::size_t first_buffer_of(const RunInputs& inputs, const MemoryInfo& memory) {
  const std::int64_t bytes = batch_bytes(inputs.data());
  const std::int64_t epoch = inputs.data().training().batches.steps_per_epoch();
  const auto ranks = static_cast<std::int64_t>(inputs.ranks());
  return first_buffer(memory.available_bytes / ranks, bytes, epoch);
}

PipelineOptions options_for(const RunInputs& inputs, const RunData::Part& part) {
  SystemProbe probe;
  const MemoryInfo memory = probe.memory();
  const RunConfig& config = inputs.settings().values;
  const DevicePlan& plan = inputs.plan(0);
  PipelineOptions options = pipeline_options(config.data, config.train, plan, probe.cpu(), memory);
  if (options.tune_buffer) options.buffer_batches = first_buffer_of(inputs, memory);
  RoleDevice& data = *inputs.devices(0).data;
  options.gpt = inputs.start().network.config.gpt;
  options.windows = part.windows;
  options.batches_a_step = plan.grad_accum;  // may be more than was asked for
  options.allocate = [&data](std::size_t bytes) { return data.host_memory(bytes); };
  options.trainers.clear();
  for (const BatchTarget& target : targets_of(inputs)) options.trainers.push_back(&target.model);
  options.buffer_batches *= options.trainers.size();  // --buffer-size is one rank's
  return options;
}

FeatureNetworks networks_of(const RunInputs& inputs, const RunData::Part& part) {
  const RunDevices& devices = inputs.devices(0);
  return {.gpt = inputs.start().network.config.gpt,
          .clips = part.batches.slots(),
          .rows = part.largest,
          .dvae = devices.dvae.get(),
          .mel_stats = devices.mel_stats,
          .windows = part.windows,
          .speaker_encoder = devices.speaker_encoder.get(),
          .speaker_dim = devices.speaker_dim};
}

// A pipeline with its feature stage.
struct StagedPipeline {
  StagedPipeline(const RunInputs& inputs, const RunData::Part& part, const PipelineOptions& options)
      : stage(*inputs.devices(0).data, targets_of(inputs), networks_of(inputs, part)),
        pipeline(*part.source, stage, options) {
    stage.set_probe(inputs.probe());
    if (FeatureCache* cache = inputs.data().cache()) stage.keep_in(*cache);
  }

  FeatureStage stage;
  Pipeline pipeline;
};

std::shared_ptr<Pipeline> make_pipeline(const RunInputs& inputs, const RunData::Part& part,
                                        const PipelineOptions& options) {
  auto staged = std::make_shared<StagedPipeline>(inputs, part, options);
  return {staged, &staged->pipeline};
}

std::shared_ptr<Pipeline> training_pipeline(const RunInputs& inputs) {
  PipelineOptions options = options_for(inputs, inputs.data().training());
  options.end = DataPosition{inputs.settings().values.train.epochs, 0};
  if (options.tune_buffer) {
    log_info("pipeline", "--buffer-size auto takes {} of about {}",
             counted(static_cast<std::int64_t>(options.buffer_batches), "batch", "batches"),
             human_size(static_cast<std::uint64_t>(batch_bytes(inputs.data()))));
  }
  return make_pipeline(inputs, inputs.data().training(), options);
}

std::shared_ptr<Pipeline> validation_pipeline(const RunInputs& inputs) {
  PipelineOptions options = options_for(inputs, *inputs.data().validation());
  options.end = DataPosition{1, 0};
  options.mask = PromptMask::None;
  options.batches_a_step = 1;
  options.most_workers = options.workers;
  options.tune_buffer = false;
  options.buffer_batches =
      std::min(options.buffer_batches, kValidationBuffer * options.trainers.size());
  options.ring_slots = kValidationSlots;
  options.start_delay = {};
  return make_pipeline(inputs, *inputs.data().validation(), options);
}

}  // namespace

BatchFeeds::BatchFeeds(const RunInputs& inputs)
    : inputs_(inputs), ranks_(inputs.ranks()), measured_(ranks_) {}

// A rank may have left a pipeline before another joins it, so that it is kept here until all have.
std::shared_ptr<BatchFeed> BatchFeeds::join(Shared& shared, Make make, std::size_t rank) {
  if (shared.pipeline == nullptr) shared.pipeline = make(inputs_);
  auto pipeline = shared.pipeline;
  if (++shared.ranks == ranks_) shared.pipeline.reset();
  BatchFeed& feed = pipeline->outlet(rank);
  return {&feed, [pipeline = std::move(pipeline)](BatchFeed* left) { left->close(); }};
}

std::shared_ptr<BatchFeed> BatchFeeds::training(std::size_t rank) {
  const std::lock_guard lock(mutex_);
  return join(training_, training_pipeline, rank);
}

std::shared_ptr<BatchFeed> BatchFeeds::validation(std::size_t rank) {
  const std::lock_guard lock(mutex_);
  const std::int64_t number = measured_.at(rank)++;
  Shared& shared = measurements_[number];
  auto feed = join(shared, validation_pipeline, rank);
  if (shared.ranks == ranks_) measurements_.erase(number);
  return feed;
}

}  // namespace myxtts
