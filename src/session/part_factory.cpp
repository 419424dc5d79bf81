// SPDX-License-Identifier: Apache-2.0
#include "session/part_factory.h"

#include <limits>

#include "config/run_config.h"

namespace myxtts {

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

std::unique_ptr<PartTraining> make_part_training(const PartFactoryInputs& parts) {
  const auto& training = parts.data.training();
  return make_training({.config = parts.config,
                        .plan = parts.plan,
                        .model = parts.start.network,
                        .batches = training.batches,
                        .windows = training.windows,
                        .speakers = parts.data.speakers().size(),
                        .device = parts.device,
                        .team = parts.team,
                        .poll = parts.poll});
}

}  // namespace myxtts
