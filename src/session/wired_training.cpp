// SPDX-License-Identifier: Apache-2.0
#include "session/wired_training.h"

#include <functional>
#include <limits>
#include <optional>

#include "base/log.h"
#include "run/open_model.h"
#include "session/ranks/rank_agreement.h"
#include "session/run_report.h"

namespace myxtts {
namespace {

const RunData& checked_on_all_ranks(const RunInputs& inputs, RankTeam& team) {
  require_equal_data(team, inputs.data().starting_state(), inputs.settings().values);
  return inputs.data();
}

std::unique_ptr<PartTraining> place_model(WiredTraining& parts) {
  say(placing_model(parts.plan));
  // A step on the CPU can take longer than a person who wants it to end is patient. Of several
  // ranks none ends in the middle of one: the others wait for the whole step.
  std::function<void()> poll;
  if (parts.is_only_rank()) {
    poll = [&stopping = parts.stopping] {
      if (stopping) throw StepAborted();
    };
  }
  return parts.on_device([&] {
    TrainingInputs inputs =
        training_inputs(parts.config(), parts.plan, parts.start, parts.data, *parts.devices.model);
    inputs.team = &parts.team;
    inputs.poll = poll;
    return make_training(inputs);
  });
}

TrainingState restored_state(WiredTraining& parts) {
  if (const std::optional<Checkpoint>& resumed = parts.inputs.resumed()) {
    const CheckpointContents saved = open_checkpoint(*resumed, parts.start.part);
    parts.on_device(
        [&] { parts.training->restore(saved.state.step, saved.weights, saved.optimiser); });
    log_info("train", "continuing at step {} with {}", saved.state.step, resumed->folder.string());
  }
  return parts.data.starting_state();
}

TrainerSettings settings_of_trainer(WiredTraining& parts, const CheckpointStore& checkpoints) {
  TrainerSettings settings = trainer_settings(parts.config(), parts.data);
  settings.sum_over_ranks = [&parts](const at::Tensor& tensor) { parts.team.all_reduce(tensor); };
  settings.checkpoint_until = [&parts, &checkpoints](std::int64_t step) {
    std::optional<std::int64_t> newest;
    if (!parts.leads()) return newest;  // it has none
    parts.saver.finish();               // until then the store is its thread's
    for (const Checkpoint& checkpoint : checkpoints.all()) {
      if (checkpoint.step <= step) newest = checkpoint.step;
    }
    return newest;
  };
  return settings;
}

}  // namespace

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
                   .warmup_steps = warmup_steps_of(train, last),
                   .last_step = last,
                   .most_seconds = most_seconds(train)},
      .last_step = data.steps_are_exact() ? last : data.most_steps().value_or(no_limit),
      .max_bad_steps = train.max_bad_steps,
      .spike_factor = train.spike_factor,
      .early_stopping = config.run.early_stopping,
      .next_position = [&data](DataPosition at) { return data.training().batches.next(at); },
      .clip_name = [&data](ClipNumber clip) { return std::string(data.corpus().clip(clip).id); }};
}

TrainingInputs training_inputs(const RunConfig& config, const DevicePlan& plan,
                               const StartingModel& start, const RunData& data,
                               RoleDevice& device) {
  return {.config = config,
          .plan = plan,
          .model = start.network,
          .batches = data.training().batches,
          .windows = data.training().windows,
          .speakers = data.speakers().size(),
          .device = device};
}

WiredTraining::WiredTraining(RunInputs& given, CheckpointStore& checkpoints, RankTeam& ranks)
    : inputs(given),
      team(ranks),
      place(given.place_of(ranks.world())),
      plan(given.plan(place)),
      start(given.start()),
      data(checked_on_all_ranks(given, ranks)),
      devices(given.devices(place)),
      training(place_model(*this)),
      saver(checkpoints, *devices.model, start.untrained(), start.fixed_files(),
            std::string(start.part.file)),
      state(restored_state(*this)),
      trainer(*training, settings_of_trainer(*this, checkpoints), state) {}

void WiredTraining::step(DeviceBatch& batch) {
  on_device([&] {
    if (const StageProbe* probe = inputs.probe()) probe->report(Work::Step);
    trainer.step(batch);
  });
}

}  // namespace myxtts
