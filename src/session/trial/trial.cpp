// SPDX-License-Identifier: Apache-2.0
#include "session/trial/trial.h"

#include <time.h>
#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/effective_config.h"
#include "config/field.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "diagnose/profile/verdict.h"
#include "session/feed/batch_feed.h"
#include "session/feed/resident_batches.h"
#include "session/feed/run_data.h"
#include "session/run_devices.h"
#include "session/run_monitor.h"
#include "session/run_report.h"
#include "session/stage_factory.h"
#include "session/starting_model.h"
#include "session/trial/steady_feed.h"
#include "train/trainer.h"

namespace myxtts {
namespace {

// What a training without a run directory is made of, joined as TrainingRun joins it. `folder` has
// what the starting model and, without --cache-dir, the indexes and the cache leave on the disk.
// Everything it is given outlives it. One thread.
struct TrialParts {
  TrialParts(const EffectiveConfig& given, const DevicePlan& planned,
             const std::filesystem::path& folder, StageProbe& probe);

  // A feed that is started at the first batch and full.
  std::shared_ptr<BatchFeed> make_feed() const;

  // That the stages hold at most, ahead of the trainer.
  static std::int64_t batches_ahead(const PipelineFacts& facts);

  // Computes what `batches` batches need, where there is a cache to keep it in, and those that are
  // taken before they are counted.
  void fill_cache(std::int64_t batches) const;

  // One batch. An error of LibTorch becomes one of the model device.
  void step(DeviceBatch& batch);

  const EffectiveConfig settings;
  const DevicePlan& plan;
  const StageProbe& probe;
  const StartingModel start;
  RunData data;
  RunDevices devices;
  FeedParts shared;
  std::unique_ptr<StageTraining> training;
  Trainer trainer;
};

constexpr std::int64_t kStagedAhead = 4;  // batches between buffer and ring

// A trial ends when it has measured enough, not with the data.
EffectiveConfig without_end(EffectiveConfig settings) {
  settings.values.train.epochs = std::numeric_limits<std::int32_t>::max();
  settings.values.train.max_steps.reset();
  settings.values.run.early_stopping.reset();
  return settings;
}

StartingModel model_of(const EffectiveConfig& settings, const std::filesystem::path& folder) {
  const auto& init = settings.values.train.init;
  return init ? start_from_folder(*init, folder, settings.values.train.stage)
              : start_from_nothing(settings.values, folder);
}

std::unique_ptr<StageTraining> place(const TrialParts& parts) {
  say(placing_model(parts.plan));
  try {
    return make_stage_training({.config = parts.settings.values,
                                .plan = parts.plan,
                                .start = parts.start,
                                .data = parts.data,
                                .device = *parts.devices.model});
  } catch (const c10::Error&) {
    rethrow_with_advice(*parts.devices.model, parts.plan, parts.start.network.config,
                        parts.settings.values.train);
  }
}

TrialParts::TrialParts(const EffectiveConfig& given, const DevicePlan& planned,
                       const std::filesystem::path& folder, StageProbe& probes)
    : settings(without_end(given)),
      plan(planned),
      probe(probes),
      start(model_of(settings, folder)),
      data(settings.values, planned, start, folder, {.probe = &probes}),
      devices(planned, start.network),
      shared{settings.values, plan, start.network.config.gpt, data, devices, &probe},
      training(place(*this)),
      trainer(*training, trainer_settings(settings.values, data)) {}

std::shared_ptr<BatchFeed> TrialParts::make_feed() const {
  auto feed = BatchFeeds(shared).training();
  feed->start({});
  feed->wait_until_ready();
  return feed;
}

std::int64_t TrialParts::batches_ahead(const PipelineFacts& facts) {
  return facts.buffer_batches + facts.ring_slots + kStagedAhead;
}

void TrialParts::fill_cache(std::int64_t batches) const {
  if (data.cache() == nullptr) return;
  const auto feed = make_feed();
  // What stages work on ahead of the trainer counts as well, and as many until that is steady; an
  // epoch holds every clip.
  const std::int64_t ahead = 2 * batches_ahead(feed->facts());
  const std::int64_t wanted = std::min(batches + ahead, data.training().batches.steps_per_epoch());
  Progress progress({.title = "Filling the cache", .total = static_cast<std::uint64_t>(wanted)});
  for (std::int64_t batch = 0; batch < wanted; ++batch) {
    auto slot = feed->next();
    if (!slot) break;
    (*slot)->consumed.record(devices.model->stream());
    progress.advance();
  }
  feed->finish();
}

void TrialParts::step(DeviceBatch& batch) {
  try {
    probe.report(Work::Step);
    trainer.step(batch);
  } catch (const c10::Error&) {
    rethrow_with_advice(*devices.model, plan, start.network.config, settings.values.train);
  }
}

constexpr std::int64_t kMostResident = 8;  // steps whose batches are kept
constexpr std::int64_t kMostTried = 40;    // steps with another setting
constexpr int kLoneSteps = 5;

double seconds_between(Clock::Time from, Clock::Time to) {
  return std::chrono::duration<double>(to - from).count();
}

double process_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Marks behind steps on the model device; nobody waits until the times are asked for.
class StepMarks {
 public:
  explicit StepMarks(const RoleDevice& device) : device_(device) {}

  void mark() {
    marks_.push_back(device_.make_event());
    marks_.back().record(device_.stream());
  }

  std::vector<double> seconds() const {
    std::vector<double> times;
    if (marks_.empty()) return times;
    marks_.back().wait();
    for (std::size_t i = 1; i < marks_.size(); ++i) {
      times.push_back(marks_[i].milliseconds_since(marks_[i - 1]) / 1000);
    }
    return times;
  }

 private:
  const RoleDevice& device_;
  std::vector<Event> marks_;
};

// One trial, phase after phase: fill the cache, warm up, settle, measure, run resident steps.
class Trial {
 public:
  Trial(TrialParts& parts, const TrialSettings& settings, const std::function<bool()>& stopped)
      : parts_(parts),
        settings_(settings),
        stopped_(stopped),
        resident_(*parts.devices.model, parts.plan.grad_accum),
        data_gpu_(parts.plan.data),
        model_gpu_(parts.plan.model) {}

  void with_pipeline(TrialReading& reading);
  void on_resident_batches(TrialReading& reading);

  // Fewer steps, for what another setting would give.
  void attempt(const std::string& title, TrialReading& reading);

 private:
  using Seen = std::function<void(const DeviceBatch&)>;

  bool is_stopped() const { return stopped_ && stopped_(); }
  bool step_from(BatchFeed& feed, const Seen& before, double* host_seconds = nullptr);
  void warm_up(BatchFeed& feed, Progress& progress);
  void settle(BatchFeed& feed);
  void measure(BatchFeed& feed, std::int64_t wanted, TrialReading& reading, Progress& progress);
  void count(const DeviceBatch& batch, TrialReading& reading) const;
  std::vector<double> resident_steps(std::int64_t steps);
  void resident_step();
  LoneStep lone_step();

  TrialParts& parts_;
  const TrialSettings& settings_;
  const std::function<bool()>& stopped_;
  ResidentBatches resident_;
  std::int64_t kept_ = 0;  // steps
  BatchTokens kept_tokens_ = {};
  GpuWatch data_gpu_;
  GpuWatch model_gpu_;
};

// False: there was no whole step any more.
bool Trial::step_from(BatchFeed& feed, const Seen& before, double* host_seconds) {
  while (auto slot = feed.next()) {
    before(**slot);
    const auto began = system_clock().now();
    parts_.step(**slot);
    if (host_seconds != nullptr) *host_seconds += seconds_between(began, system_clock().now());
    slot.reset();
    if (parts_.trainer.between_steps()) return true;
  }
  return false;
}

void Trial::warm_up(BatchFeed& feed, Progress& progress) {
  for (std::int64_t step = 0; step < settings_.warm_up && !is_stopped(); ++step) {
    const bool keeps = settings_.resident > 0 && kept_ < kMostResident;
    const auto keep = [&](const DeviceBatch& batch) {
      if (!keeps) return;
      resident_.keep(batch);
      kept_tokens_.all += tokens_of(batch).all;
      kept_tokens_.useful += tokens_of(batch).useful;
    };
    if (!step_from(feed, keep)) return;
    kept_ += keeps ? 1 : 0;
    progress.advance();
  }
}

void Trial::settle(BatchFeed& feed) {
  const PipelineFacts facts = feed.facts();
  const std::int64_t ahead = TrialParts::batches_ahead(facts);
  myxtts::settle(
      {.ahead = ahead,
       .behind_buffer = ahead - facts.buffer_batches,
       .batches_a_step = parts_.plan.grad_accum,
       .in_buffer = [&feed] { return feed.meters().queue("buffer").depth.current; },
       .step = [&] { return !is_stopped() && step_from(feed, [](const DeviceBatch&) {}); }});
}

void Trial::count(const DeviceBatch& batch, TrialReading& reading) const {
  const BatchTokens tokens = tokens_of(batch);
  ++reading.batches;
  reading.clips += std::ssize(batch.clips);
  reading.audio_seconds += batch.audio_seconds;
  reading.tokens += tokens.all;
  reading.useful_tokens += tokens.useful;
}

void Trial::measure(BatchFeed& feed, std::int64_t wanted, TrialReading& reading,
                    Progress& progress) {
  StepMarks marks(*parts_.devices.model);
  const PipelineReading before = feed.meters();
  const std::int64_t file_before = parts_.probe.file_nanoseconds;
  const double cpu_before = process_seconds();
  const auto began = system_clock().now();
  marks.mark();
  std::int64_t steps = 0;
  std::int64_t tokens_before = 0;
  for (; steps < wanted && !is_stopped(); ++steps) {
    const auto seen = [&](const DeviceBatch& batch) { count(batch, reading); };
    if (!step_from(feed, seen, &reading.host_step_seconds)) break;
    marks.mark();
    reading.step_tokens.push_back(reading.tokens - std::exchange(tokens_before, reading.tokens));
    data_gpu_.look();
    model_gpu_.look();
    progress.advance();
  }
  reading.step_seconds = marks.seconds();
  reading.wall_seconds = seconds_between(began, system_clock().now());
  reading.cpu_seconds = process_seconds() - cpu_before;
  reading.file_seconds = 1e-9 * static_cast<double>(parts_.probe.file_nanoseconds - file_before);
  reading.pipeline = between(before, feed.meters());
  reading.host_step_seconds /= static_cast<double>(std::max<std::int64_t>(1, steps));
}

void Trial::with_pipeline(TrialReading& reading) {
  parts_.fill_cache((settings_.warm_up + settings_.steps) * parts_.plan.grad_accum);
  Progress progress({.title = "Measuring",
                     .total = static_cast<std::uint64_t>(settings_.warm_up + settings_.steps)});
  const auto feed = parts_.make_feed();
  warm_up(*feed, progress);
  settle(*feed);
  measure(*feed, settings_.steps, reading, progress);
  feed->finish();
  const auto& sizes = parts_.data.training().batches.sizes();
  reading.longest_row = sizes.empty() ? 0 : sizes.back().longest;
  reading.data.gpu = data_gpu_.take();
  reading.model.gpu = model_gpu_.take();
}

void Trial::resident_step() {
  do {
    parts_.step(resident_.next());
  } while (!parts_.trainer.between_steps());
}

std::vector<double> Trial::resident_steps(std::int64_t steps) {
  for (int step = 0; step < 2; ++step) resident_step();
  StepMarks marks(*parts_.devices.model);
  marks.mark();
  for (std::int64_t step = 0; step < steps && !is_stopped(); ++step) {
    resident_step();
    marks.mark();
  }
  return marks.seconds();
}

LoneStep Trial::lone_step() {
  LoneStep sum;
  const RoleDevice& device = *parts_.devices.model;
  for (int step = 0; step < kLoneSteps; ++step) {
    Event before = device.make_event();
    before.record(device.stream());
    before.wait();
    const auto began = system_clock().now();
    resident_step();
    Event ended = device.make_event();
    ended.record(device.stream());
    const auto handed_over = system_clock().now();
    ended.wait();
    sum.host_seconds += seconds_between(began, handed_over) / kLoneSteps;
    sum.after_seconds += seconds_between(handed_over, system_clock().now()) / kLoneSteps;
  }
  return sum;
}

void Trial::on_resident_batches(TrialReading& reading) {
  if (resident_.empty() || kept_ == 0 || is_stopped()) return;
  reading.resident_seconds = resident_steps(settings_.resident);
  reading.resident_tokens = static_cast<double>(kept_tokens_.all) / static_cast<double>(kept_);
  reading.lone = lone_step();
  parts_.trainer.finish();
}

void Trial::attempt(const std::string& title, TrialReading& reading) {
  const std::int64_t steps = std::min(settings_.steps, kMostTried);
  parts_.fill_cache((settings_.warm_up + steps) * parts_.plan.grad_accum);
  Progress progress(
      {.title = title, .total = static_cast<std::uint64_t>(settings_.warm_up + steps)});
  const auto feed = parts_.make_feed();
  warm_up(*feed, progress);
  settle(*feed);
  measure(*feed, steps, reading, progress);
  feed->finish();
  parts_.trainer.finish();
}

void read_memory(const RoleDevice& device, RoleSeen& seen) {
  const MemoryReading memory = device.memory().read();
  seen.peak_bytes = memory.peak;
  seen.cap = memory.cap;
}

// Another setting, and the plan that follows from it.
struct Alternative {
  Alternative(const Knob& knob, EffectiveConfig given, const DevicePlan& planned)
      : settings(std::move(given)), plan(planned), flag(knob.flag) {
    const Field* field = find_field(knob.key);
    MYXTTS_CHECK(field != nullptr && field->assign({.text = knob.value}, settings.values),
                 "{} cannot be {}", knob.key, knob.value);
    if (knob.key == "train.batch_tokens") plan.batch_tokens = settings.values.train.batch_tokens;
    if (knob.key == "train.batch_size") plan.batch_size = *settings.values.train.batch_size;
  }

  EffectiveConfig settings;
  DevicePlan plan;
  std::string flag;
};

// Null: it needs more memory than there is.
std::shared_ptr<const TrialReading> try_out(const Alternative& other, const TrialSettings& trial,
                                            StageProbe& probe,
                                            const std::function<bool()>& stopped) {
  const ScratchFolder folder("profile");
  auto reading = std::make_shared<TrialReading>();
  try {
    TrialParts parts(other.settings, other.plan, folder.path(), probe);
    Trial(parts, trial, stopped).attempt("Trying " + other.flag, *reading);
  } catch (const DeviceError& error) {
    log_info("profile", "{} cannot be tried: {}", other.flag, error.what());
    return nullptr;
  }
  return reading;
}

}  // namespace

ProfileSetup profile_setup(const EffectiveConfig& settings, const DevicePlan& plan) {
  const RunConfig& config = settings.values;
  SystemProbe probe;
  return {.plan = plan,
          .model_size = config.train.init ? config.train.init->string() : config.train.model_size,
          .static_shapes = config.train.enable_static_shapes && plan.model.gpu.has_value(),
          .cache_dataset = config.data.cache_dataset,
          .shift_clips = config.train.shift_clips,
          .host_path_was_asked = config.devices.transfer_path == TransferPath::Host,
          .cores = probe.cpu().usable_cores()};
}

TrialReading run_trial(const EffectiveConfig& settings, const DevicePlan& plan,
                       const TrialSettings& trial, const std::function<bool()>& stopped) {
  const ScratchFolder folder("profile");
  StageProbe probe{.on_work = trial.on_work,
                   .token_counts = trial.token_counts,
                   .least_tokens = trial.least_tokens};
  TrialReading reading;
  {
    TrialParts parts(settings, plan, folder.path(), probe);
    Trial phases(parts, trial, stopped);
    phases.with_pipeline(reading);
    phases.on_resident_batches(reading);
    read_memory(*parts.devices.data, reading.data);
    read_memory(*parts.devices.model, reading.model);
  }
  if (trial.resident == 0 || reading.step_seconds.empty() || (stopped && stopped())) return reading;
  for (const Knob& knob : worth_trying(make_profile(profile_setup(settings, plan), reading))) {
    const Alternative other(knob, settings, plan);
    reading.tried.push_back({.knob = knob, .reading = try_out(other, trial, probe, stopped)});
  }
  return reading;
}

}  // namespace myxtts
