// SPDX-License-Identifier: Apache-2.0
#include "session/feed/batch_feed.h"

#include <algorithm>
#include <utility>

#include "device/machine.h"
#include "pipeline/data_pipeline.h"

namespace myxtts {
namespace {

constexpr std::size_t kValidationSlots = 2;   // the least that overlaps
constexpr std::size_t kValidationBuffer = 4;  // batches

std::vector<BatchTarget> targets_of(const FeedParts& parts) {
  if (!parts.ranks.empty()) return parts.ranks;
  return {{.model = *parts.devices.model, .path = parts.plan.path}};
}

PipelineOptions options_for(const FeedParts& parts) {
  SystemProbe probe;
  PipelineOptions options = pipeline_options(parts.config.data, parts.config.train, parts.plan,
                                             probe.cpu(), probe.memory());
  RoleDevice& data = *parts.devices.data;
  options.host.gpt = parts.gpt;
  options.host.batches_a_step = parts.plan.grad_accum;  // may be more than was asked for
  options.host.allocate = [&data](std::size_t bytes) { return data.host_memory(bytes); };
  options.trainers.clear();
  for (const BatchTarget& target : targets_of(parts)) {
    RoleDevice& model = target.model;
    options.trainers.push_back(
        {.make_event = [&model] { return model.make_event(); }, .stream = model.stream()});
  }
  options.host.buffer.batches *= options.trainers.size();  // --buffer-size is one rank's
  return options;
}

std::unique_ptr<CacheFiller> filler_of(const FeedParts& parts) {
  if (parts.data.cache() == nullptr) return nullptr;
  return std::make_unique<CacheFiller>(*parts.devices.data, *parts.data.cache());
}

}  // namespace

std::unique_ptr<BatchFeed> BatchFeed::for_training(const FeedParts& parts) {
  PipelineOptions options = options_for(parts);
  options.host.end = DataPosition{parts.config.train.epochs, 0};
  options.host.windows = parts.data.training().windows;
  return std::make_unique<BatchFeed>(parts, parts.data.training(), options);
}

std::unique_ptr<BatchFeed> BatchFeed::for_validation(const FeedParts& parts) {
  PipelineOptions options = options_for(parts);
  options.host.end = DataPosition{1, 0};
  options.host.windows = parts.data.validation()->windows;
  options.host.mask = PromptMask::None;
  options.host.batches_a_step = 1;
  options.host.most_workers = options.host.workers;
  options.host.tune_buffer = false;
  options.host.buffer.batches =
      std::min(options.host.buffer.batches, kValidationBuffer * options.trainers.size());
  options.ring_slots = kValidationSlots;
  options.host.staging_blocks = kValidationSlots + 2;
  options.start_delay = {};
  return std::make_unique<BatchFeed>(parts, *parts.data.validation(), options);
}

BatchFeed::BatchFeed(const FeedParts& parts, const RunData::Part& part,
                     const PipelineOptions& options)
    : options_(options),
      filler_(filler_of(parts)),
      stage_(*parts.devices.data, targets_of(parts),
             FeatureNetworks{.gpt = parts.gpt,
                             .dvae = parts.devices.dvae.get(),
                             .mel_stats = parts.devices.mel_stats,
                             .windows = part.windows,
                             .speaker_encoder = parts.devices.speaker_encoder.get(),
                             .speaker_dim = parts.devices.speaker_dim},
             part.bounds),
      pipeline_(*part.source, stage_, options_) {
  stage_.set_probe(parts.probe);
  if (filler_ == nullptr) return;
  stage_.set_cache_filler(filler_.get());
  filler_->start();
}

void BatchFeed::finish() {
  stop();  // so that nothing is kept any more
  if (filler_ != nullptr) filler_->finish();
}

void BatchFeed::start(DataPosition position) {
  std::call_once(started_, [&] { pipeline_.start(position); });
}

bool BatchFeed::leave(std::size_t trainer) {
  pipeline_.leave(trainer);
  return ++left_ == pipeline_.trainers();
}

StartWait BatchFeed::wait_until_ready(std::size_t trainer) {
  const StartReport report = pipeline_.wait_until_ready(trainer);
  return {.for_data = report.for_data,
          .for_delay = report.for_delay,
          .ready_batches = static_cast<std::int64_t>(meters(trainer).queue("ring").depth.current)};
}

PipelineFacts BatchFeed::facts() const {
  return {.workers = static_cast<std::int64_t>(options_.host.workers),
          .buffer_batches = static_cast<std::int64_t>(options_.host.buffer.batches),
          .ring_slots = static_cast<std::int64_t>(options_.ring_slots)};
}

RankFeed::~RankFeed() {
  if (!left_) feed_->leave(rank_);
}

void RankFeed::finish() {
  if (!std::exchange(left_, true) && feed_->leave(rank_)) feed_->finish();
}

RankFeeds::RankFeeds(const FeedParts& parts)
    : parts_(parts), ranks_(std::max<std::size_t>(1, parts.ranks.size())), measured_(ranks_) {}

// A rank may have left a feed before another joins it, so that it is kept here until all have.
std::unique_ptr<RankFeed> RankFeeds::join(Shared& shared, Make make, std::size_t rank) {
  if (shared.feed == nullptr) shared.feed = make(parts_);
  auto own = std::make_unique<RankFeed>(shared.feed, rank);
  if (++shared.ranks == ranks_) shared.feed.reset();
  return own;
}

std::unique_ptr<RankFeed> RankFeeds::training(std::size_t rank) {
  const std::lock_guard lock(mutex_);
  return join(training_, BatchFeed::for_training, rank);
}

std::unique_ptr<RankFeed> RankFeeds::validation(std::size_t rank) {
  const std::lock_guard lock(mutex_);
  const std::int64_t number = measured_.at(rank)++;
  Shared& shared = measurements_[number];
  auto own = join(shared, BatchFeed::for_validation, rank);
  if (shared.ranks == ranks_) measurements_.erase(number);
  return own;
}

}  // namespace myxtts
