// SPDX-License-Identifier: Apache-2.0
#include "session/stage_factory.h"

#include "base/error.h"
#include "session/training_settings.h"
#include "train/decoder/decoder_training.h"
#include "train/dvae/dvae_training.h"
#include "train/gpt_training.h"
#include "train/speaker/speaker_training.h"

namespace myxtts {
namespace {

std::unique_ptr<StageTraining> make_gpt(const StageParts& parts) {
  GptTrainingSettings settings = gpt_training_settings(parts.config, parts.plan, parts.data);
  settings.on_the_way = parts.on_the_way;
  settings.team = parts.team;
  settings.wire = parts.config.parallel.wire;
  settings.shard = parts.config.parallel.shard_optimiser;
  return std::make_unique<GptTraining>(parts.start.network.config.gpt, parts.start.trained(),
                                       parts.device, settings);
}

std::unique_ptr<StageTraining> make_dvae(const StageParts& parts) {
  DvaeTrainingSettings settings = dvae_training_settings(parts.config, parts.plan, parts.data);
  settings.on_the_way = parts.on_the_way;
  const OpenModel& network = parts.start.network;
  return std::make_unique<DvaeTraining>(network.config.dvae, network.dvae,
                                        network.model.at("mel_stats"), parts.device, settings);
}

std::unique_ptr<StageTraining> make_decoder(const StageParts& parts) {
  DecoderTrainingSettings settings =
      decoder_training_settings(parts.config, parts.plan, parts.data);
  settings.on_the_way = parts.on_the_way;
  const OpenModel& network = parts.start.network;
  return std::make_unique<DecoderTraining>(network.config, network.model, parts.device, settings);
}

std::unique_ptr<StageTraining> make_speaker(const StageParts& parts) {
  SpeakerTrainingSettings settings =
      speaker_training_settings(parts.config, parts.plan, parts.data);
  settings.on_the_way = parts.on_the_way;
  return std::make_unique<SpeakerTraining>(parts.start.network.config.speaker_encoder,
                                           parts.start.trained(), parts.device, settings);
}

}  // namespace

std::unique_ptr<StageTraining> make_stage_training(const StageParts& parts) {
  const Stage stage = parts.config.train.stage;
  if (parts.team != nullptr && stage != Stage::Gpt) {
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
