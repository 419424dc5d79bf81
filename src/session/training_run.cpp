// SPDX-License-Identifier: Apache-2.0
#include "session/training_run.h"

#include "base/error.h"
#include "base/log.h"
#include "config/effective_config.h"
#include "diagnose/doctor/run_checklist.h"
#include "pipeline/pipeline_reading.h"
#include "run/metrics_log.h"
#include "session/run_monitor.h"
#include "session/run_report.h"
#include "session/samples/part_samples.h"
#include "session/samples/validation_samples.h"
#include "session/wired_training.h"
#include "train/metrics_observer.h"
#include "train/weight_histograms.h"
#include "watch/mlflow.h"
#include "watch/run_samples.h"

namespace myxtts {
namespace {

void add_memory(Metrics& metrics, const std::string& role, const RoleDevice& device) {
  const MemoryReading memory = device.memory().read();
  metrics.emplace_back("memory." + role, static_cast<double>(memory.reserved));
  metrics.emplace_back("memory." + role + "_peak", static_cast<double>(memory.peak));
}

// What each line of metrics has beside the losses: how ready batches were so far, how busy each
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

// In the order in which they are made; what a member uses stands above it.
struct TrainingRun::State {
  State(RunInputs& inputs, CheckpointStore& kept, const RunOptions& options, RankTeam& team)
      : checkpoints(kept),
        parts(inputs, kept, team),
        record(parts.leads() ? options.record : nullptr),
        resume(options.resume.empty() ? resume_command(inputs.folder()) : options.resume),
        feed(inputs.feeds().training(parts.place)),
        monitor(
            parts.plan, [this] { return feed->meters(); }, advice_for(parts.config())),
        metrics(parts.leads()
                    ? std::make_unique<MetricsObserver>(inputs.folder(), metrics_settings())
                    : nullptr),
        progress(parts.plan, {.title = options.title,
                              .first_step = parts.state.step,
                              .last_step = known_last_step(),
                              .deadline = options.deadline,
                              .most_seconds = most_seconds(parts.config().train),
                              .seconds_before = parts.state.seconds,
                              .loss_names = parts.training->loss_names(),
                              .meters = [this] { return feed->meters(); },
                              .memory =
                                  [this](Role role) {
                                    const RunDevices& devices = parts.devices;
                                    const RoleDevice& device =
                                        role == Role::Data ? *devices.data : *devices.model;
                                    return device.memory().read().reserved;
                                  }}),
        loop(parts, *feed, options.deadline, [this] { return metrics->position(); }) {
    for (TrainingObserver* observer :
         std::initializer_list<TrainingObserver*>{&progress, &tally, &monitor}) {
      parts.trainer.observe(*observer);
    }
    if (!parts.leads()) return;
    parts.trainer.observe(*metrics);
    make_samples();
    if (const auto& server = parts.config().run.mlflow) {
      mlflow = std::make_unique<MlflowSender>(*server, inputs.folder());
    }
    if (record != nullptr) {
      begin_record();
      parts.trainer.observe(*record);
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (record != nullptr) record->pause();
    if (mlflow) mlflow->finish("FAILED");
  }

  void begin_record() {
    record->begin({.first_step = parts.state.step,
                   .last_step = known_last_step(),
                   .example = example_of(parts.data.corpus()),
                   .advice = advice_for(parts.config()),
                   .meters = [this] { return feed->meters(); }});
  }

  // Where a clock ends training, only a step count that was asked for is worth showing.
  std::optional<std::int64_t> known_last_step() const {
    const TrainConfig& train = parts.config().train;
    return most_seconds(train) ? train.max_steps : std::optional(parts.data.steps_of_run());
  }

  // With graphs the device holds by now what it will hold; without, only steps will show.
  void prepare_saving() {
    if (!uses_graphs(parts.config(), parts.plan)) return;
    const CheckpointContents all{.weights = parts.training->weights(),
                                 .optimiser = parts.training->optimiser()};  // all ranks together
    if (parts.leads()) parts.saver.prepare(all);
  }

  Metrics all_gauges() const {
    Metrics all = gauges(feed->meters(), parts.devices);
    const Metrics monitored = monitor.gauges();
    all.insert(all.end(), monitored.begin(), monitored.end());
    return all;
  }

  MetricsSettings metrics_settings() {
    MetricsSettings chosen{.log_steps = parts.config().run.log_steps,
                           .loss_names = parts.training->loss_names(),
                           .start = parts.state,
                           .gauges = [this] { return all_gauges(); }};
    if (parts.config().run.histograms) {
      chosen.histograms = [this] { return weight_histograms(parts.training->weights()); };
    }
    return chosen;
  }

  // They are made with each validation, and at the end.
  void make_samples() {
    SampleMaker maker = samples_of_part(parts.config(), parts.start, parts.data.corpus());
    if (!maker) return;
    samples = std::make_unique<ValidationSamples>(parts.inputs.folder(), *parts.training,
                                                  parts.start.network, std::move(maker), judging(),
                                                  [this] {
                                                    if (record != nullptr) record->measured();
                                                  });
    parts.trainer.observe(*samples);
  }

  SampleJudging judging() {
    const auto& whisper = parts.config().run.judge;
    if (!whisper) return {};
    return {.judge = std::make_unique<const SampleJudge>(*whisper),
            .take = [this](const SampleVerdict& verdict) { take(verdict); }};
  }

  void take(const SampleVerdict& verdict) {
    metrics->judged(verdict.step, {{"sample_cer", verdict.cer},
                                   {"sample_similarity", verdict.similarity},
                                   {"samples", static_cast<double>(verdict.samples)}});
    if (best_by_of(parts.config()) != BestBy::Cer || parts.config().run.keep_best == 0) return;
    parts.saver.finish();  // the checkpoints are its thread's until then
    try {
      if (checkpoints.note_sample_cer(verdict.step, verdict.cer)) return;
      log_warning("train",
                  "The checkpoint of step {} was removed before its samples were heard, and cannot "
                  "become the best; --keep-last with a higher number keeps it long enough.",
                  verdict.step);
    } catch (const DataError& error) {
      log_warning("train", "What was heard in the samples of step {} was not kept: {}",
                  verdict.step, error.what());
    }
  }

  // Of this process, or of an earlier one whose checkpoint is there.
  std::optional<std::int64_t> step_of_best() const {
    if (tally.best_step()) return tally.best_step();
    const auto best = best_checkpoint(parts.inputs.folder());
    return best ? std::optional(best->step) : std::nullopt;
  }

  CheckpointStore& checkpoints;
  WiredTraining parts;
  RunRecord* const record;   // null: nobody keeps one
  const std::string resume;  // the command
  std::shared_ptr<BatchFeed> feed;
  RunMonitor monitor;
  std::unique_ptr<MetricsObserver> metrics;  // of the rank that leads
  ProgressObserver progress;
  RunTally tally;
  TrainingLoop loop;
  std::unique_ptr<ValidationSamples> samples;
  std::unique_ptr<MlflowSender> mlflow;  // null: nobody asked for it
};

namespace {

// What was asked for is held against what there is to train on.
void judge_batch(const EffectiveConfig& settings, const Corpus& corpus) {
  const auto& asked = settings.values.train.batch_size;
  const std::int64_t clips = std::ssize(corpus.training());
  if (!asked || *asked <= clips) return;
  const bool was_typed = !settings.origins.empty() &&
                         settings.origin_of("train.batch_size").kind == Origin::Kind::Flag;
  const BatchCaution caution = caution_of_batch(*asked, clips, was_typed);
  if (was_typed) {
    log_warning("train", "{}. {}.", caution.finding, caution.remedy);
  } else {
    log_info("train", "a batch is {}", caution.finding);
  }
}

}  // namespace

TrainingRun::TrainingRun(RunInputs& inputs, CheckpointStore& checkpoints, const RunOptions& options,
                         RankTeam& team)
    : state_(std::make_unique<State>(inputs, checkpoints, options, team)) {
  if (!state_->parts.leads()) return;
  judge_batch(inputs.settings(), inputs.data().corpus());
  if (inputs.data().validation() == nullptr) log_warning("train", "{}.", kNothingMeasured);
  const RunConfig& config = inputs.settings().values;
  for (const LengthCaution& caution : cautions_of_length(config, inputs.data().steps_of_run())) {
    log_warning("train", "{}. {}.", caution.finding, caution.remedy);
  }
}

TrainingRun::~TrainingRun() = default;

void TrainingRun::observe(TrainingObserver& observer) {
  state_->parts.trainer.observe(observer);
}

void TrainingRun::start() {
  BatchFeed& feed = *state_->feed;
  const WiredTraining& parts = state_->parts;
  const PipelineOptions& options = feed.options();
  say(pipeline_made(parts.plan, options.workers, options.buffer_batches));
  feed.start(parts.state.position);
  state_->prepare_saving();  // beside the wait for data
  say(waiting(parts.plan, options.start_delay));
  say(training_starts(parts.plan, feed.wait_until_ready()));
}

Ending TrainingRun::train() {
  WiredTraining& parts = state_->parts;
  const Ending ending = parts.on_device([this] { return state_->loop.run(); });
  state_->progress.finish();
  if (ending == Ending::OutOfTime && state_->samples) state_->samples->stop();
  if (state_->record != nullptr) state_->record->pause();  // while the queues are as they were
  state_->feed->finish();
  if (!parts.saver.finish()) {
    const std::int64_t step = parts.trainer.state().step;
    const auto saved = state_->checkpoints.all();
    throw DataError(fmt::format(
        "The last checkpoint, of step {}, could not be written (the reason is above); {}. Make "
        "room, then type: {}",
        step,
        saved.empty() ? "none was saved before it, so that the run begins again"
                      : fmt::format("the run goes on from that of step {}, which is whole",
                                    saved.back().step),
        state_->resume));
  }
  parts.team.barrier();  // what rank 0 wrote is there for all
  if (ending == Ending::Done && state_->samples) {
    parts.on_device([this] { state_->samples->finish(state().step); });
  } else if (state_->samples) {
    state_->samples->hand_over();
  }
  if (state_->mlflow) state_->mlflow->finish(ending == Ending::Done ? "FINISHED" : "KILLED");
  return ending;
}

void TrainingRun::stop() {
  state_->parts.stopping = true;
  if (state_->samples) state_->samples->stop();
  state_->loop.stop();
}

TrainingState TrainingRun::state() const {
  return state_->parts.trainer.state();
}

RunSummary TrainingRun::summary() const {
  const TrainingState& first = state_->parts.state;
  const TrainingState now = state();
  const SampleCount samples = count_samples(state_->parts.inputs.folder());
  return RunSummary{.first_step = first.step,
                    .last_step = now.step,
                    .skipped_steps = now.skipped_steps,
                    .is_at_end = state_->parts.trainer.done(),
                    .seconds = now.seconds - first.seconds,
                    .audio_seconds = state_->tally.audio_seconds(),
                    .first_loss = state_->tally.first_loss(),
                    .last_loss = state_->tally.last_loss(),
                    .best_validation_loss = now.best_validation_loss,
                    .best_step = state_->step_of_best(),
                    .last_validation_loss = state_->tally.last_validation(),
                    .samples = samples.in_newest,
                    .samples_in = state_->parts.inputs.folder() / "samples" / samples.newest,
                    .pipeline = state_->feed->meters(),
                    .advice = advice_for(state_->parts.config())};
}

}  // namespace myxtts
