// SPDX-License-Identifier: Apache-2.0
#include "session/run_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "data/cache/model_key.h"

namespace myxtts {
namespace {

BatchSettings settings_of(const RunConfig& config, const DevicePlan& plan,
                          const StageProbe* probe) {
  BatchSettings settings{
      .batch_size = plan.batch_size,
      .batch_tokens = plan.batch_tokens,
      // Padding is for graphs, which only GPUs replay.
      .static_shapes = config.train.enable_static_shapes && plan.model.gpu.has_value(),
      .seed = static_cast<std::uint64_t>(config.train.seed)};
  if (probe != nullptr && probe->token_counts > 0) {
    settings.static_shapes = true;
    settings.most_token_counts = probe->token_counts;
  }
  return settings;
}

BatchSettings in_order(BatchSettings settings) {
  settings.shuffle = false;
  return settings;
}

BatchSettings padded(BatchSettings settings) {
  settings.static_shapes = true;
  return settings;
}

// No batch is larger than the largest size that it could be padded to.
BatchBounds bounds_of(const BatchPlan& batches) {
  return {.clips = batches.slots(), .rows = batches.sizes().back()};
}

std::unique_ptr<FeatureCache> open_cache(const RunConfig& config, const StartingModel& start,
                                         const std::filesystem::path& run) {
  if (!config.data.cache_dataset) return nullptr;
  const OpenModel& network = start.network;
  auto cache = std::make_unique<FeatureCache>(
      config.data.cache_dir.value_or(run),
      model_key(network.dvae, network.model.at("mel_stats"), dvae_mel_config()));
  log_info("train", "the feature cache {} holds {} clips", cache->folder().string(), cache->size());
  return cache;
}

WindowPlan windows_of(const RunConfig& config, const StartingModel& start,
                      const RunData::Part& part) {
  return plan_windows(config.train.stage, start.network.config,
                      {.per_clip = config.train.windows_per_clip, .seconds = config.train.window},
                      part.batches.slots());
}

const char* name_of(PromptMask mask) {
  switch (mask) {
    case PromptMask::Clip:
      return "clip";
    case PromptMask::None:
      return "none";
    case PromptMask::Peer:
      return "peer";
  }
  return "?";
}

}  // namespace

RunData::Part::Part(const Corpus& corpus, std::span<const ClipNumber> clips, const GptConfig& gpt,
                    const BatchSettings& settings)
    : batches(corpus, clips, gpt, settings),
      bounds(bounds_of(BatchPlan(corpus, clips, gpt, padded(settings)))) {}

RunData::Part::Part(const Corpus& corpus, const GptConfig& gpt, const BatchSettings& settings)
    : batches(corpus, gpt, settings), bounds(bounds_of(BatchPlan(corpus, gpt, padded(settings)))) {}

RunData::RunData(const RunConfig& config, const DevicePlan& plan, const StartingModel& start,
                 const std::filesystem::path& run, StageProbe* probe)
    : config_(config),
      settings_(settings_of(config, plan, probe)),
      batches_a_step_(plan.grad_accum),
      corpus_(Corpus::open(config.data, start.vocabulary, run)),
      speakers_(corpus_),
      cache_(open_cache(config, start, run)) {
  if (corpus_.training().empty()) {
    throw DataError(
        fmt::format("No clip is left to train on; {} says why.", (run / "skipped.jsonl").string()));
  }
  const GptConfig& gpt = start.network.config.gpt;
  training_ = std::make_unique<Part>(corpus_, gpt, settings_);
  training_->source =
      std::make_unique<CorpusBatches>(corpus_, training_->batches, start.vocabulary, config.data,
                                      CorpusBatchesOptions{.prompt_seed = settings_.seed,
                                                           .shift = config.train.shift_clips,
                                                           .cache = cache_.get(),
                                                           .skipped_file = run / "skipped.jsonl",
                                                           .probe = probe,
                                                           .speakers = &speakers_});
  training_->windows = windows_of(config, start, *training_);
  if (corpus_.validation().empty()) return;
  validation_ = std::make_unique<Part>(corpus_, corpus_.validation(), gpt, in_order(settings_));
  validation_->source = std::make_unique<CorpusBatches>(
      corpus_, validation_->batches, start.vocabulary, config.data,
      CorpusBatchesOptions{
          .prompt_seed = std::nullopt, .cache = cache_.get(), .speakers = &speakers_});
  validation_->windows = windows_of(config, start, *validation_);
}

RunData::~RunData() = default;

std::int64_t RunData::steps_of_epoch(std::int64_t epoch) const {
  const std::int64_t batches = training_->batches.steps_per_epoch(epoch);
  return (batches + batches_a_step_ - 1) / batches_a_step_;
}

bool RunData::steps_are_exact() const {
  return !settings_.batch_tokens;
}

std::int64_t RunData::steps_of_run() const {
  const std::int64_t by_epochs = config_.train.epochs * steps_of_epoch(0);
  return std::min(by_epochs, config_.train.max_steps.value_or(by_epochs));
}

std::string RunData::batch_settings() const {
  const WindowPlan& windows = training_->windows;
  return fmt::format(
      "batch_size={} batch_tokens={} batches_a_step={} static_shapes={} seed={} prompt_mask={}{}{}",
      settings_.batch_size, settings_.batch_tokens.value_or(0), batches_a_step_,
      settings_.static_shapes, settings_.seed, name_of(config_.train.prompt_mask),
      config_.train.shift_clips ? " shifted" : "",
      windows.empty() ? "" : fmt::format(" windows={}x{}", windows.per_clip, windows.length));
}

std::string RunData::fingerprint() const {
  return fmt::format("{:016x}", corpus_.fingerprint());
}

}  // namespace myxtts
