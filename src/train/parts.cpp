// SPDX-License-Identifier: Apache-2.0
#include "train/parts.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "train/decoder/decoder_training.h"
#include "train/dvae/dvae_training.h"
#include "train/gpt/gpt_training.h"
#include "train/speaker/speaker_training.h"

namespace myxtts {
namespace {

struct TrainablePart {
  ModelPart part;
  std::unique_ptr<PartTraining> (*make)(const TrainingInputs&);
  bool several_ranks = false;
};

// What else is known of a part is in config: facts_of(ModelPart).
constexpr std::array kParts{
    TrainablePart{.part = ModelPart::Gpt, .make = make_gpt_training, .several_ranks = true},
    TrainablePart{.part = ModelPart::Dvae, .make = make_dvae_training},
    TrainablePart{.part = ModelPart::Decoder, .make = make_decoder_training},
    TrainablePart{.part = ModelPart::Speaker, .make = make_speaker_training},
};

}  // namespace

std::unique_ptr<PartTraining> make_training(const TrainingInputs& inputs) {
  const ModelPart part = inputs.config.train.stage;
  const auto* const found = std::ranges::find(kParts, part, &TrainablePart::part);
  MYXTTS_CHECK(found != kParts.end(), "the part {} has no training", name_of(part));
  if (!inputs.team->is_alone() && !found->several_ranks) {
    throw ConfigError(fmt::format(
        "Several ranks train the stage gpt alone so far, and --stage is {}; start it as one "
        "process, without a launcher.",
        name_of(part)));
  }
  return found->make(inputs);
}

StepSettings step_settings(const TrainingInputs& inputs) {
  const TrainConfig& train = inputs.config.train;
  return {.precision = inputs.plan.precision,
          .weight_decay = weight_decay_of(train),
          .grad_clip = train.grad_clip,
          .seed = static_cast<std::uint64_t>(train.seed),
          .batches_a_step = inputs.plan.grad_accum,
          .freeze = train.freeze.value_or(std::vector<std::string>{}),
          .graphs = uses_graphs(inputs.config, inputs.plan),
          .deterministic = train.deterministic,
          .poll = inputs.poll};
}

StepSettings finer_step_settings(const TrainingInputs& inputs) {
  StepSettings settings = step_settings(inputs);
  const bool is_free =
      inputs.config.train.precision == Precision::Auto && inputs.plan.model.gpu.has_value();
  if (is_free) settings.precision = Precision::Tf32;
  return settings;
}

bool uses_graphs(const RunConfig& config, const DevicePlan& plan) {
  return config.train.enable_static_shapes && plan.model.gpu.has_value();
}

}  // namespace myxtts
