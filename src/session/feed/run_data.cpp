// SPDX-License-Identifier: Apache-2.0
#include "session/feed/run_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/part_settings.h"
#include "pipeline/feature_writer.h"

namespace myxtts {
namespace {

BatchSettings settings_of(const RunConfig& config, const DevicePlan& plan,
                          const RunDataOptions& options) {
  BatchSettings settings{
      .batch_size = plan.batch_size,
      .batch_tokens = plan.batch_tokens,
      // Padding is for graphs, which only GPUs replay.
      .static_shapes = config.train.enable_static_shapes && plan.model.gpu.has_value(),
      .seed = static_cast<std::uint64_t>(config.train.seed),
      .rank = options.rank,
      .world_size = options.world_size};
  if (options.probe != nullptr && options.probe->token_counts > 0) {
    settings.static_shapes = true;
    settings.most_token_counts = options.probe->token_counts;
    settings.least_tokens = options.probe->least_tokens;
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

std::unique_ptr<FeatureCache> open_cache(const RunConfig& config, const StartingModel& start,
                                         const std::filesystem::path& run) {
  if (!config.data.cache_dataset) return nullptr;
  const OpenModel& network = start.network;
  auto cache = std::make_unique<FeatureCache>(
      config.data.cache_dir.value_or(run),
      model_key(network.dvae, network.model.at("mel_stats"), dvae_mel_config()));
  log_info("train", "the feature cache {} holds {}", cache->folder().string(),
           counted(static_cast<std::int64_t>(cache->size()), "clip"));
  return cache;
}

WindowPlan windows_of(const RunConfig& config, const StartingModel& start, std::int64_t slots) {
  return plan_windows(config.train, start.network.config, slots);
}

bool swaps_prompts(const RunConfig& config) {
  return config.train.prompt_from == PromptFrom::Speaker;
}

// What the memory allowed may be too little to hear another clip in.
void check_prompts(const RunConfig& config, const DevicePlan& plan) {
  if (!swaps_prompts(config) || plan.batch_size > 1) return;
  throw ConfigError(
      "--prompt-from speaker cuts a clip's prompt from another clip of the batch, and the batch is "
      "one clip; give --batch-size 2 or more, or --prompt-from clip.");
}

// The decoder hears the GPT's states of codes as they are.
double noise_of(const RunConfig& config) {
  return facts_of(config.train.stage).on_windows ? 0 : config.train.code_noise;
}

// A word of TrainingState::rows, so that a resumed run keeps its own split; runs that began before
// there were such words have none.
const char* name_of(HoldBack rule) {
  switch (rule) {
    case HoldBack::Share:
      return "";
    case HoldBack::Clips:
      return " held_back=clips";
    case HoldBack::Speakers:
      return " held_back=speakers";
  }
  return "?";
}

HoldBack rule_of(const RunConfig& config, const std::optional<TrainingState>& resumed) {
  if (!resumed) return hold_back_of(config.train.stage);
  for (const HoldBack rule : {HoldBack::Clips, HoldBack::Speakers}) {
    if (resumed->rows.find(name_of(rule)) != std::string::npos) return rule;
  }
  return HoldBack::Share;
}

// A state that was damaged before it was sealed, or made by hand.
void check_position(const TrainingState& state, std::int64_t batches) {
  if (state.position.step < batches) return;
  throw DataError(fmt::format(
      "The checkpoint of step {} is damaged: its state.json says that {} batches of epoch {} were "
      "trained, and that epoch has {}; continue from another checkpoint with --resume STEP.",
      state.step, state.position.step, state.position.epoch + 1, batches));
}

double hours_of(const Corpus& corpus) {
  double samples = 0;
  for (const ClipNumber number : corpus.training()) {
    samples += static_cast<double>(corpus.samples(number));
  }
  return samples / (3600.0 * kModelRate);
}

std::optional<std::int64_t> steps_allowed(const RunConfig& config, const Corpus& corpus) {
  const double hours = hours_of(corpus);
  const auto steps = most_steps(config.train, hours);
  const auto& budgets = config.train.stage_budget;
  const auto own = budgets ? budgets->find(config.train.stage) : PartBudgets::const_iterator{};
  if (budgets && own != budgets->end() && own->second.hours) {
    log_info("train", "{} taken: the budget {} with {:.3g} hours of speech to train on",
             counted(*steps, "step is", "steps are"), format_part_budget(own->second), hours);
  }
  return steps;
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

// No batch is larger than the largest size that it could be padded to.
RunData::Part::Part(const Corpus& corpus, std::span<const ClipNumber> clips, const GptConfig& gpt,
                    const BatchSettings& settings)
    : batches(corpus, clips, gpt, settings),
      largest(BatchPlan(corpus, clips, gpt, padded(settings)).sizes().back()) {}

RunData::Part::Part(const Corpus& corpus, const GptConfig& gpt, const BatchSettings& settings,
                    const EpochStart& start)
    : batches(corpus, gpt, settings, start),
      largest(BatchPlan(corpus, gpt, padded(settings)).sizes().back()) {}

RunData::RunData(const RunConfig& config, const DevicePlan& plan, const StartingModel& start,
                 const std::filesystem::path& run, const RunDataOptions& options)
    : config_(config),
      settings_(settings_of(config, plan, options)),
      batches_a_step_(plan.grad_accum),
      hold_back_(rule_of(config, options.resumed)),
      corpus_(Corpus::open(config.data, start.vocabulary, run, hold_back_)),
      most_steps_(steps_allowed(config, corpus_)),
      speakers_(corpus_),
      left_out_(config.data, corpus_.skipped(),
                options.rank == 0 ? run / "skipped.jsonl" : std::filesystem::path()),
      cache_(open_cache(config, start, run)),
      state_(first_state(start, options.resumed)) {
  check_prompts(config, plan);
  if (corpus_.training().empty()) {
    throw DataError(
        fmt::format("No clip is left to train on; {} says why.", (run / "skipped.jsonl").string()));
  }
  refuse_unheard(corpus_);
  const GptConfig& gpt = start.network.config.gpt;
  training_ = std::make_unique<Part>(corpus_, gpt, settings_, state_.division);
  check_position(state_, training_->batches.steps_per_epoch(state_.position.epoch));
  training_->source =
      std::make_unique<CorpusBatches>(corpus_, training_->batches, start.vocabulary, config.data,
                                      CorpusBatchesOptions{.prompt_seed = settings_.seed,
                                                           .swap_prompts = swaps_prompts(config),
                                                           .shift = config.train.shift_clips,
                                                           .noise = noise_of(config),
                                                           .cache = cache_.get(),
                                                           .left_out = &left_out_,
                                                           .probe = options.probe,
                                                           .speakers = &speakers_});
  training_->windows = windows_of(config, start, training_->batches.slots());
  if (corpus_.validation().empty()) return;
  validation_ = std::make_unique<Part>(corpus_, corpus_.validation(), gpt, in_order(settings_));
  validation_->source =
      std::make_unique<CorpusBatches>(corpus_, validation_->batches, start.vocabulary, config.data,
                                      CorpusBatchesOptions{.prompt_seed = std::nullopt,
                                                           .swap_prompts = swaps_prompts(config),
                                                           .cache = cache_.get(),
                                                           .left_out = &left_out_,
                                                           .speakers = &speakers_});
  validation_->windows = windows_of(config, start, validation_->batches.slots());
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
  const EpochStart& began = state_.division;
  const std::int64_t whole_epoch = began.visits == 0 ? began.epoch : began.epoch + 1;
  const std::int64_t by_epochs =
      state_.division_step + steps_of_epoch(began.epoch) +
      (config_.train.epochs - began.epoch - 1) * steps_of_epoch(whole_epoch);
  return std::min(by_epochs, most_steps_.value_or(by_epochs));
}

// A step has the same clips for every way of sharing it out to ranks; a token budget is one rank's.
TrainingState RunData::new_state(const StartingModel& start) const {
  const std::int64_t world = settings_.world_size;
  const WindowPlan windows = windows_of(config_, start, settings_.batch_size);
  return {
      .stage = std::string(name_of(config_.train.stage)),
      .corpus = fmt::format("{:016x}", corpus_.fingerprint()),
      .rows = fmt::format(
          "seed={} prompt_mask={}{}{}{}{}{}", settings_.seed, name_of(config_.train.prompt_mask),
          swaps_prompts(config_) ? " prompts=speaker" : "",
          config_.train.shift_clips ? " shifted" : "",
          noise_of(config_) > 0 ? fmt::format(" code_noise={}", noise_of(config_)) : "",
          windows.empty() ? "" : fmt::format(" windows={}x{}", windows.per_clip, windows.length),
          name_of(hold_back_)),
      .batches = fmt::format("batch_size={} batch_tokens={}{} batches_a_step={} static_shapes={}",
                             settings_.batch_size * world, settings_.batch_tokens.value_or(0),
                             settings_.batch_tokens && world > 1 ? fmt::format("x{}", world) : "",
                             batches_a_step_, settings_.static_shapes)};
}

TrainingState RunData::first_state(const StartingModel& start,
                                   const std::optional<TrainingState>& resumed) const {
  TrainingState now = new_state(start);
  return resumed ? continue_with(*resumed, now) : now;
}

}  // namespace myxtts
