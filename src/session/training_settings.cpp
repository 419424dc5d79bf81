// SPDX-License-Identifier: Apache-2.0
#include "session/training_settings.h"

#include <limits>

namespace myxtts {

GptTrainingSettings gpt_training_settings(const RunConfig& config, const DevicePlan& plan,
                                          const RunData& data) {
  const TrainConfig& train = config.train;
  const BatchPlan& batches = data.training().batches;
  return {.precision = plan.precision,
          .update = {.weight_decay = train.weight_decay, .clip = train.grad_clip},
          .savers = plan.savers,
          .dropout = train.dropout,
          .seed = static_cast<std::uint64_t>(train.seed),
          .batches_a_step = plan.grad_accum,
          .freeze = train.freeze.value_or(std::vector<std::string>{}),
          .graphs = train.enable_static_shapes && plan.model.gpu.has_value(),
          .deterministic = train.deterministic,
          .sizes = batches.sizes(),
          .slots = batches.slots()};
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
      .schedule = {.kind = train.schedule,
                   .learning_rate = train.lr,
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

}  // namespace myxtts
