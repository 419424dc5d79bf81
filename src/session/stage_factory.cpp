// SPDX-License-Identifier: Apache-2.0
#include "session/stage_factory.h"

#include <limits>

#include "base/error.h"
#include "config/run_config.h"
#include "train/decoder/decoder_training.h"
#include "train/dvae/dvae_training.h"
#include "train/gpt/gpt_training.h"
#include "train/speaker/speaker_training.h"

namespace myxtts {

GptTrainingSettings gpt_training_settings(const RunConfig& config, const DevicePlan& plan,
                                          const RunData& data) {
  const TrainConfig& train = config.train;
  const BatchPlan& batches = data.training().batches;
  return {.precision = plan.precision,
          .update = {.weight_decay = weight_decay_of(train), .clip = train.grad_clip},
          .savers = plan.savers,
          .dropout = train.dropout,
          .guide = train.guide,
          .seed = static_cast<std::uint64_t>(train.seed),
          .batches_a_step = plan.grad_accum,
          .freeze = train.freeze.value_or(std::vector<std::string>{}),
          .graphs = train.enable_static_shapes && plan.model.gpu.has_value(),
          .deterministic = train.deterministic,
          .sizes = batches.sizes(),
          .slots = batches.slots()};
}

namespace {

// bf16 is what the plan takes for the GPT where nothing was asked for; these stages need more.
Precision finer_precision(const RunConfig& config, const DevicePlan& plan) {
  const bool is_free = config.train.precision == Precision::Auto && plan.model.gpu.has_value();
  return is_free ? Precision::Tf32 : plan.precision;
}

}  // namespace

DvaeTrainingSettings dvae_training_settings(const RunConfig& config, const DevicePlan& plan,
                                            const RunData& data) {
  const TrainConfig& train = config.train;
  const WindowPlan& windows = data.training().windows;
  DvaeTrainingSettings settings{.precision = finer_precision(config, plan),
                                .seed = static_cast<std::uint64_t>(train.seed),
                                .batches_a_step = plan.grad_accum,
                                .freeze = train.freeze.value_or(std::vector<std::string>{}),
                                .graphs = uses_graphs(config, plan),
                                .deterministic = train.deterministic,
                                .windows = windows.count(),
                                .frames = windows.length};
  settings.update.weight_decay = weight_decay_of(train);
  settings.update.clip = train.grad_clip;
  return settings;
}

DecoderTrainingSettings decoder_training_settings(const RunConfig& config, const DevicePlan& plan,
                                                  const RunData& data) {
  const TrainConfig& train = config.train;
  if (train.freeze) {
    throw ConfigError(
        "--freeze does not go with --stage decoder, which is trained whole; leave it out.");
  }
  const WindowPlan& windows = data.training().windows;
  DecoderTrainingSettings settings{.precision = plan.precision,
                                   .moments = plan.savers.moments,
                                   .windows = windows.count(),
                                   .window_frames = windows.length,
                                   .mel_only_steps = train.mel_only_steps,
                                   .seed = static_cast<std::uint64_t>(train.seed),
                                   .batches_a_step = plan.grad_accum,
                                   .graphs = uses_graphs(config, plan),
                                   .deterministic = train.deterministic};
  settings.update.weight_decay = weight_decay_of(train);
  settings.update.clip = train.grad_clip;
  return settings;
}

SpeakerTrainingSettings speaker_training_settings(const RunConfig& config, const DevicePlan& plan,
                                                  const RunData& data) {
  const TrainConfig& train = config.train;
  const WindowPlan& windows = data.training().windows;
  SpeakerTrainingSettings settings{.precision = finer_precision(config, plan),
                                   .speakers = data.speakers().size(),
                                   .seed = static_cast<std::uint64_t>(train.seed),
                                   .batches_a_step = plan.grad_accum,
                                   .freeze = train.freeze.value_or(std::vector<std::string>{}),
                                   .graphs = uses_graphs(config, plan),
                                   .deterministic = train.deterministic,
                                   .windows = windows.count(),
                                   .samples = windows.samples()};
  settings.update.weight_decay = weight_decay_of(train);
  settings.update.clip = train.grad_clip;
  return settings;
}

std::optional<double> most_seconds(const TrainConfig& train) {
  if (!train.stage_budget || !train.stage_budget->contains(train.stage)) return std::nullopt;
  const auto& minutes = train.stage_budget->at(train.stage).minutes;
  return minutes ? std::optional(60 * *minutes) : std::nullopt;
}

TrainerSettings trainer_settings(const RunConfig& config, const RunData& data) {
  const TrainConfig& train = config.train;
  const std::int64_t last = data.steps_of_run();
  // Where epochs are not all equally long the pipeline knows the end.
  const std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
  return {
      .schedule = {.kind = schedule_of(train),
                   .learning_rate = learning_rate_of(train),
                   .warmup_steps = train.warmup_steps,
                   .last_step = last,
                   .most_seconds = most_seconds(train)},
      .last_step = data.steps_are_exact() ? last : train.max_steps.value_or(no_limit),
      .max_bad_steps = train.max_bad_steps,
      .spike_factor = train.spike_factor,
      .early_stopping = config.run.early_stopping,
      .next_position = [&data](DataPosition at) { return data.training().batches.next(at); },
      .clip_name = [&data](ClipNumber clip) { return std::string(data.corpus().clip(clip).id); }};
}

namespace {

std::unique_ptr<StageTraining> make_gpt(const StageParts& parts) {
  GptTrainingSettings settings = gpt_training_settings(parts.config, parts.plan, parts.data);
  settings.on_the_way = parts.poll;
  settings.team = parts.team;
  settings.wire = parts.config.parallel.wire;
  settings.shard = parts.config.parallel.shard_optimiser;
  return std::make_unique<GptTraining>(parts.start.network.config.gpt, parts.start.trained(),
                                       parts.device, settings);
}

std::unique_ptr<StageTraining> make_dvae(const StageParts& parts) {
  DvaeTrainingSettings settings = dvae_training_settings(parts.config, parts.plan, parts.data);
  settings.on_the_way = parts.poll;
  const OpenModel& network = parts.start.network;
  return std::make_unique<DvaeTraining>(network.config.dvae, network.dvae,
                                        network.model.at("mel_stats"), parts.device, settings);
}

std::unique_ptr<StageTraining> make_decoder(const StageParts& parts) {
  DecoderTrainingSettings settings =
      decoder_training_settings(parts.config, parts.plan, parts.data);
  settings.on_the_way = parts.poll;
  const OpenModel& network = parts.start.network;
  return std::make_unique<DecoderTraining>(network.config, network.model, parts.device, settings);
}

std::unique_ptr<StageTraining> make_speaker(const StageParts& parts) {
  SpeakerTrainingSettings settings =
      speaker_training_settings(parts.config, parts.plan, parts.data);
  settings.on_the_way = parts.poll;
  return std::make_unique<SpeakerTraining>(parts.start.network.config.speaker_encoder,
                                           parts.start.trained(), parts.device, settings);
}

}  // namespace

std::unique_ptr<StageTraining> make_stage_training(const StageParts& parts) {
  const Stage stage = parts.config.train.stage;
  if (!parts.team->is_alone() && stage != Stage::Gpt) {
    throw ConfigError(fmt::format(
        "Several ranks train the stage gpt alone so far, and --stage is {}; start it as one "
        "process, without a launcher.",
        name_of(stage)));
  }
  switch (parts.config.train.stage) {
    case Stage::Gpt:
      return make_gpt(parts);
    case Stage::Dvae:
      return make_dvae(parts);
    case Stage::Decoder:
      return make_decoder(parts);
    case Stage::Speaker:
      return make_speaker(parts);
  }
  throw InternalError("a stage without a training");
}

bool uses_graphs(const RunConfig& config, const DevicePlan& plan) {
  return config.train.enable_static_shapes && plan.model.gpu.has_value();
}

}  // namespace myxtts
