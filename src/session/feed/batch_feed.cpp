// SPDX-License-Identifier: Apache-2.0
#include "session/feed/batch_feed.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/message_text.h"
#include "device/machine.h"

namespace myxtts {
namespace {

using Pipeline = DataPipeline<FeatureStage>;

constexpr std::size_t kValidationSlots = 2;   // the least that overlaps
constexpr std::size_t kValidationBuffer = 4;  // batches

std::vector<BatchTarget> targets_of(const FeedParts& parts) {
  if (!parts.ranks.empty()) return parts.ranks;
  return {{.model = *parts.devices.model, .path = parts.plan.path}};
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
std::size_t first_buffer_of(const FeedParts& parts, const MemoryInfo& memory) {
  const std::int64_t bytes = batch_bytes(parts.data);
  const std::int64_t epoch = parts.data.training().batches.steps_per_epoch();
  const auto ranks = static_cast<std::int64_t>(std::max<std::size_t>(1, parts.ranks.size()));
  return first_buffer(memory.available_bytes / ranks, bytes, epoch);
}

PipelineOptions options_for(const FeedParts& parts, const RunData::Part& part) {
  SystemProbe probe;
  const MemoryInfo memory = probe.memory();
  PipelineOptions options =
      pipeline_options(parts.config.data, parts.config.train, parts.plan, probe.cpu(), memory);
  if (options.tune_buffer) options.buffer.batches = first_buffer_of(parts, memory);
  RoleDevice& data = *parts.devices.data;
  options.rows.gpt = parts.gpt;
  options.rows.windows = part.windows;
  options.rows.batches_a_step = parts.plan.grad_accum;  // may be more than was asked for
  options.allocate = [&data](std::size_t bytes) { return data.host_memory(bytes); };
  options.trainers.clear();
  for (const BatchTarget& target : targets_of(parts)) options.trainers.push_back(&target.model);
  options.buffer.batches *= options.trainers.size();  // --buffer-size is one rank's
  return options;
}

// A pipeline with its feature stage.
struct StagedPipeline {
  StagedPipeline(const FeedParts& parts, const RunData::Part& part, const PipelineOptions& options)
      : stage(*parts.devices.data, targets_of(parts),
              FeatureNetworks{.gpt = parts.gpt,
                              .dvae = parts.devices.dvae.get(),
                              .mel_stats = parts.devices.mel_stats,
                              .windows = part.windows,
                              .speaker_encoder = parts.devices.speaker_encoder.get(),
                              .speaker_dim = parts.devices.speaker_dim},
              part.bounds),
        pipeline(*part.source, stage, options) {
    stage.set_probe(parts.probe);
    if (parts.data.cache() != nullptr) stage.keep_in(*parts.data.cache());
  }

  FeatureStage stage;
  Pipeline pipeline;
};

std::shared_ptr<Pipeline> make_pipeline(const FeedParts& parts, const RunData::Part& part,
                                        const PipelineOptions& options) {
  auto staged = std::make_shared<StagedPipeline>(parts, part, options);
  return {staged, &staged->pipeline};
}

std::shared_ptr<Pipeline> training_pipeline(const FeedParts& parts) {
  PipelineOptions options = options_for(parts, parts.data.training());
  options.end = DataPosition{parts.config.train.epochs, 0};
  if (options.tune_buffer) {
    log_info("pipeline", "--buffer-size auto takes {} batches of about {}", options.buffer.batches,
             human_size(static_cast<std::uint64_t>(batch_bytes(parts.data))));
  }
  return make_pipeline(parts, parts.data.training(), options);
}

std::shared_ptr<Pipeline> validation_pipeline(const FeedParts& parts) {
  PipelineOptions options = options_for(parts, *parts.data.validation());
  options.end = DataPosition{1, 0};
  options.rows.mask = PromptMask::None;
  options.rows.batches_a_step = 1;
  options.most_workers = options.workers;
  options.tune_buffer = false;
  options.buffer.batches =
      std::min(options.buffer.batches, kValidationBuffer * options.trainers.size());
  options.ring_slots = kValidationSlots;
  options.start_delay = {};
  return make_pipeline(parts, *parts.data.validation(), options);
}

}  // namespace

BatchFeeds::BatchFeeds(const FeedParts& parts)
    : parts_(parts), ranks_(std::max<std::size_t>(1, parts.ranks.size())), measured_(ranks_) {}

// A rank may have left a pipeline before another joins it, so that it is kept here until all have.
std::shared_ptr<BatchFeed> BatchFeeds::join(Shared& shared, Make make, std::size_t rank) {
  if (shared.pipeline == nullptr) shared.pipeline = make(parts_);
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
