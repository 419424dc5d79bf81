// SPDX-License-Identifier: Apache-2.0
#include "session/training_run.h"

#include <atomic>
#include <chrono>

#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/log.h"
#include "pipeline/pipeline_reading.h"
#include "run/metrics_log.h"
#include "run/open_model.h"
#include "session/ranks/rank_agreement.h"
#include "session/run_devices.h"
#include "session/run_inputs.h"
#include "session/run_monitor.h"
#include "session/run_report.h"
#include "session/samples/stage_samples.h"
#include "session/samples/validation_samples.h"
#include "session/stage_factory.h"
#include "session/training_loop.h"
#include "train/metrics_observer.h"
#include "train/trainer.h"
#include "train/weight_histograms.h"

namespace myxtts {
namespace {

void add_memory(Metrics& metrics, const std::string& role, const RoleDevice& device) {
  const MemoryReading memory = device.memory().read();
  metrics.emplace_back("memory." + role, static_cast<double>(memory.reserved));
  metrics.emplace_back("memory." + role + "_peak", static_cast<double>(memory.peak));
}

// What each line of metrics tells beside the losses: how ready batches were so far, how busy each
// stage was, how full each queue is, and the memory of both roles. Waits for nothing.
Metrics gauges(const PipelineReading& reading, const RunDevices& devices) {
  Metrics metrics{{"readiness", reading.readiness.share()},
                  {"waited_seconds", reading.readiness.waited_seconds}};
  for (const StageReading& stage : reading.stages) {
    metrics.emplace_back("pipeline." + stage.name + ".busy_seconds", seconds_in(stage.load.busy));
  }
  for (const QueueReading& queue : reading.queues) {
    metrics.emplace_back("pipeline." + queue.name + ".depth",
                         static_cast<double>(queue.depth.current));
  }
  add_memory(metrics, "data", *devices.data);
  add_memory(metrics, "model", *devices.model);
  return metrics;
}

}  // namespace

std::optional<Clock::Time> deadline_after(const TrainConfig& train) {
  if (!train.max_minutes) return std::nullopt;
  using Minutes = std::chrono::duration<double, std::ratio<60>>;
  return system_clock().now() +
         std::chrono::duration_cast<Clock::Time::duration>(Minutes(*train.max_minutes));
}

// In the order in which they are made; what a part uses stands above it.
struct TrainingRun::Parts {
  Parts(const EffectiveConfig& given, const DevicePlan& planned, const RunDirectory& directory,
        CheckpointStore& checkpoints, const std::optional<Checkpoint>& resumed,
        const RunFrame& frame)
      : settings(given),
        plan(planned),
        run(directory),
        team(frame.team),
        own_inputs(frame.inputs == nullptr ? make_inputs(resumed) : nullptr),
        inputs(frame.inputs == nullptr ? *own_inputs : *frame.inputs),
        start(inputs.start()),
        data(the_same_on_all_ranks(inputs.data())),
        devices(inputs.devices(frame.place)),
        training(place_model()),
        saver(checkpoints, *devices.model, start.untrained(), start.fixed_files(),
              std::string(start.part.file)),
        feed(inputs.feeds().training(frame.place)),
        state(restore(resumed)),
        trainer(*training, trainer_settings_with(checkpoints), state),
        monitor({.plan = plan,
                 .meters = [this] { return feed->meters(); },
                 .advice = advice_for(given.values)}),
        metrics(leads() ? std::make_unique<MetricsObserver>(run.path(), metrics_settings())
                        : nullptr),
        progress(plan, {.title = frame.title,
                        .first_step = state.step,
                        .last_step = known_last_step(),
                        .most_seconds = most_seconds(given.values.train),
                        .seconds_before = state.seconds,
                        .loss_names = training->loss_names(),
                        .meters = [this] { return feed->meters(); }}),
        loop({.config = settings.values,
              .data = data,
              .devices = devices,
              .feed = *feed,
              .validation_feed = [this,
                                  place = frame.place] { return inputs.feeds().validation(place); },
              .trainer = trainer,
              .saver = saver,
              .metrics_position = [this] { return metrics->position(); },
              .deadline = frame.deadline ? frame.deadline : deadline_after(given.values.train),
              .team = team,
              .waited_for_ranks = [this] { return training->take_waited(); },
              .settle = [this] { return training->finish_queued(); }},
             state) {
    for (TrainingObserver* observer :
         std::initializer_list<TrainingObserver*>{&progress, &tally, &monitor}) {
      trainer.observe(*observer);
    }
    if (!leads()) return;
    trainer.observe(*metrics);
    make_samples();
  }

  std::unique_ptr<RunInputs> make_inputs(const std::optional<Checkpoint>& resumed) const {
    ProcessRanks ranks{.plans = {plan}};
    if (team != nullptr) {
      ranks.first = team->world().rank;
      ranks.world_size = team->world().size;
    }
    return std::make_unique<RunInputs>(settings, ranks, run, resumed);
  }

  const RunData& the_same_on_all_ranks(const RunData& own) const {
    if (team != nullptr) require_equal_data(*team, own.starting_state(), settings.values);
    return own;
  }

  bool leads() const { return team == nullptr || team->world().leads(); }

  // Where a clock ends training, only a step count that was asked for is worth showing.
  std::optional<std::int64_t> known_last_step() const {
    const TrainConfig& train = settings.values.train;
    return most_seconds(train) ? train.max_steps : std::optional(data.steps_of_run());
  }

  // Runs `work`; an error of LibTorch in it becomes one of the model device.
  template <typename Work>
  auto on_device(Work work) {
    try {
      return work();
    } catch (const c10::Error&) {
      rethrow_with_advice(*devices.model, plan, start.network.config, settings.values.train);
    }
  }

  std::unique_ptr<StageTraining> place_model() {
    say(placing_model(plan));
    return on_device([this] {
      // A step on the CPU can take longer than a person who wants it to end is patient.
      std::function<void()> poll = [this] {
        if (stopping) throw GivenUp();
      };
      if (team != nullptr) poll = nullptr;  // the others wait for the whole step
      return make_stage_training({.config = settings.values,
                                  .plan = plan,
                                  .start = start,
                                  .data = data,
                                  .device = *devices.model,
                                  .team = team,
                                  .poll = poll});
    });
  }

  TrainingState restore(const std::optional<Checkpoint>& resumed) {
    if (!resumed) return data.starting_state();
    const CheckpointContents saved = open_checkpoint(*resumed, start.part);
    on_device([&] { training->restore(saved.state.step, saved.weights, saved.optimiser); });
    log_info("train", "continuing at step {} with {}", saved.state.step, resumed->folder.string());
    return data.starting_state();
  }

  TrainerSettings trainer_settings_with(CheckpointStore& checkpoints) {
    TrainerSettings chosen = trainer_settings(settings.values, data);
    if (team != nullptr) chosen.sum_over_ranks = [this](const at::Tensor& t) { team->all_reduce(t); };
    chosen.checkpoint_until = [this, &checkpoints](std::int64_t step) {
      if (!leads()) return std::optional<std::int64_t>();  // it has none
      saver.finish();                                      // until then the store is its thread's
      std::optional<std::int64_t> newest;
      for (const Checkpoint& checkpoint : checkpoints.all()) {
        if (checkpoint.step <= step) newest = checkpoint.step;
      }
      return newest;
    };
    return chosen;
  }

  // With graphs the device holds by now what it will hold; without, only steps will show.
  void prepare_saving() {
    if (!uses_graphs(settings.values, plan)) return;
    const CheckpointContents all{.weights = training->weights(),
                                 .optimiser = training->optimiser()};  // together, with ranks
    if (leads()) saver.prepare(all);
  }

  Metrics all_gauges() const {
    Metrics all = gauges(feed->meters(), devices);
    const Metrics monitored = monitor.gauges();
    all.insert(all.end(), monitored.begin(), monitored.end());
    return all;
  }

  MetricsSettings metrics_settings() {
    MetricsSettings chosen{.log_steps = settings.values.run.log_steps,
                           .loss_names = training->loss_names(),
                           .start = state,
                           .gauges = [this] { return all_gauges(); }};
    if (settings.values.run.histograms) {
      chosen.histograms = [this] { return weight_histograms(training->weights()); };
    }
    return chosen;
  }

  // Where nothing is measured, nobody would be told when to make them.
  void make_samples() {
    if (data.validation() == nullptr) return;
    auto maker = samples_of_stage(settings.values, start, data.corpus());
    if (maker == nullptr) return;
    samples =
        std::make_unique<ValidationSamples>(run.path(), *training, start.network, std::move(maker));
    trainer.observe(*samples);
  }

  const EffectiveConfig& settings;
  std::atomic<bool> stopping = false;
  const DevicePlan plan;
  const RunDirectory& run;
  RankTeam* const team;
  const std::unique_ptr<RunInputs> own_inputs;  // null: other ranks have them too
  RunInputs& inputs;
  const StartingModel& start;
  const RunData& data;
  RunDevices& devices;
  std::unique_ptr<StageTraining> training;
  CheckpointSaver saver;
  std::unique_ptr<RankFeed> feed;
  const TrainingState state;  // that training began with
  Trainer trainer;
  RunMonitor monitor;
  std::unique_ptr<MetricsObserver> metrics;  // of the rank that leads
  ProgressObserver progress;
  RunTally tally;
  TrainingLoop loop;
  std::unique_ptr<ValidationSamples> samples;
  bool out_of_time = false;
};

TrainingRun::TrainingRun(const EffectiveConfig& settings, const DevicePlan& plan,
                         const RunDirectory& run, CheckpointStore& checkpoints,
                         const std::optional<Checkpoint>& resumed, const RunFrame& frame)
    : parts_(std::make_unique<Parts>(settings, plan, run, checkpoints, resumed, frame)) {
  if (parts_->data.validation() == nullptr) {
    log_info("train", "there are no validation clips, so nothing is measured on the way");
  }
}

TrainingRun::~TrainingRun() = default;

void TrainingRun::observe(TrainingObserver& observer) {
  parts_->trainer.observe(observer);
}

void TrainingRun::start() {
  Parts& parts = *parts_;
  const PipelineFacts facts = parts.feed->facts();
  say(pipeline_made(parts.plan, facts));
  parts.feed->start(parts.state.position);
  parts.prepare_saving();  // beside the wait for data
  say(waiting(parts.plan, facts, parts.feed->start_delay()));
  say(training_starts(parts.plan, parts.feed->wait_until_ready()));
}

bool TrainingRun::train() {
  Parts& parts = *parts_;
  const auto ending = parts.on_device([&] { return parts.loop.run(); });
  parts.progress.finish();
  parts.out_of_time = ending == TrainingLoop::Ending::OutOfTime;
  if (parts.out_of_time && parts.samples) parts.samples->stop();
  parts.feed->finish();
  if (!parts.saver.finish()) {
    throw DataError(fmt::format(
        "The last checkpoint, of step {}, could not be written (the reason is above); what was "
        "saved before is whole. Make room, then type: {}",
        parts.trainer.state().step, resume_command(parts.run)));
  }
  if (parts.team != nullptr) parts.team->barrier();  // what rank 0 wrote is there for all
  return ending == TrainingLoop::Ending::Done;
}

bool TrainingRun::out_of_time() const {
  return parts_->out_of_time;
}

void TrainingRun::stop() {
  parts_->stopping = true;
  if (parts_->samples) parts_->samples->stop();
  parts_->loop.stop();
}

TrainingState TrainingRun::state() const {
  return parts_->trainer.state();
}

std::string TrainingRun::summary() const {
  const Parts& parts = *parts_;
  const TrainingState now = parts.trainer.state();
  return describe(RunSummary{.first_step = parts.state.step,
                             .last_step = now.step,
                             .skipped_steps = now.skipped_steps,
                             .seconds = now.seconds - parts.state.seconds,
                             .audio_seconds = parts.tally.audio_seconds(),
                             .first_loss = parts.tally.first_loss(),
                             .last_loss = parts.tally.last_loss(),
                             .best_validation_loss = now.best_validation_loss,
                             .pipeline = parts.feed->meters(),
                             .advice = advice_for(parts.settings.values)});
}

}  // namespace myxtts
