// SPDX-License-Identifier: Apache-2.0
#include "session/trial/trial.h"

#include <time.h>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/effective_config.h"
#include "config/field.h"
#include "data/batches/device_batch.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "device/role_device.h"
#include "diagnose/profile/remedies.h"
#include "session/feed/batch_feed.h"
#include "session/run_inputs.h"
#include "session/run_monitor.h"
#include "session/trial/steady_feed.h"
#include "session/wired_training.h"

namespace myxtts {
namespace {

// Copies of batches that stay on the model device, so that steps can be run without a pipeline.
// One thread, the trainer's; the device outlives it.
class ResidentBatches {
 public:
  ResidentBatches(RoleDevice& device, std::int64_t batches_a_step)
      : device_(device), batches_a_step_(batches_a_step) {}

  // Queued on the device, behind whatever filled the batch.
  void keep(const DeviceBatch& batch);

  bool empty() const { return batches_.empty(); }

  // The next one, round and round; every `batches_a_step` of them end a step.
  DeviceBatch& next();

 private:
  RoleDevice& device_;
  const std::int64_t batches_a_step_;
  std::vector<DeviceBatch> batches_;
  std::size_t taken_ = 0;
};

void ResidentBatches::keep(const DeviceBatch& batch) {
  const auto scope = device_.enter(device_.stream());
  DeviceBatch copy;
  static_cast<Batch<TensorOf>&>(copy) = batch;
  copy.windows = {};  // a trial is of the GPT alone
  const auto clone = [](at::Tensor& tensor) {
    if (tensor.defined()) tensor = tensor.clone();
  };
  for_each_slot_array(clone, copy);
  copy.filled = device_.make_event();
  copy.consumed = device_.make_event();
  copy.filled.record(device_.stream());
  batches_.push_back(std::move(copy));
}

DeviceBatch& ResidentBatches::next() {
  MYXTTS_CHECK(!batches_.empty(), "no batch was kept");
  DeviceBatch& batch = batches_[taken_ % batches_.size()];
  ++taken_;
  batch.ends_step = static_cast<std::int64_t>(taken_) % batches_a_step_ == 0;
  return batch;
}

// Tokens that the model computes for a batch, and those of clips among them.
std::int64_t all_tokens(const DeviceBatch& batch) {
  const auto& lengths = batch.rows.lengths;
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

std::int64_t useful_tokens(const DeviceBatch& batch) {
  const auto& lengths = batch.rows.lengths;
  const auto clips = std::min(batch.rows.clips, static_cast<std::int64_t>(lengths.size()));
  return std::accumulate(lengths.begin(), lengths.begin() + clips, std::int64_t{0});
}

constexpr std::int64_t kStagedAhead = 4;   // batches between buffer and ring
constexpr std::int64_t kMostResident = 8;  // steps whose batches are kept
constexpr std::int64_t kMostTried = 40;    // steps with another setting
constexpr int kLoneSteps = 5;

// A trial ends when it has measured enough, not with the data.
EffectiveConfig without_end(EffectiveConfig settings) {
  settings.values.train.epochs = std::numeric_limits<std::int32_t>::max();
  settings.values.train.max_steps.reset();
  settings.values.train.stage_budget.reset();
  settings.values.run.early_stopping.reset();
  return settings;
}

// Batches that the stages hold at most, ahead of the trainer.
std::int64_t batches_ahead(const PipelineOptions& options) {
  return static_cast<std::int64_t>(options.buffer_batches + options.ring_slots) + kStagedAhead;
}

double seconds_between(Clock::Time from, Clock::Time to) {
  return std::chrono::duration<double>(to - from).count();
}

double process_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Marks what was queued on the device so far; nobody waits until the times are asked for.
void mark(const RoleDevice& device, std::vector<Event>& marks) {
  marks.push_back(device.make_event());
  marks.back().record(device.stream());
}

// From each mark to the next. Waits for the last one.
std::vector<double> seconds_between(const std::vector<Event>& marks) {
  std::vector<double> times;
  if (marks.empty()) return times;
  marks.back().wait();
  for (std::size_t i = 1; i < marks.size(); ++i) {
    times.push_back(marks[i].milliseconds_since(marks[i - 1]) / 1000);
  }
  return times;
}

// A training that is measured and thrown away, phase after phase: fill the cache, warm up, train
// until the feed is steady, measure, run steps on resident batches. Everything it is given outlives
// it. One thread.
class Trial {
 public:
  Trial(const EffectiveConfig& settings, const DevicePlan& plan, const TrialSettings& trial,
        StageProbe& probe, const std::function<bool()>& stopped)
      : trial_(trial),
        stopped_(stopped),
        probe_(probe),
        settings_(without_end(settings)),
        inputs_(settings_, {plan}, folder_.path(), std::nullopt, {.probe = &probe}),
        checkpoints_(folder_.path()),
        parts_(inputs_, checkpoints_, RankTeam::alone()),
        resident_(*parts_.devices.model, plan.grad_accum),
        data_gpu_(plan.data),
        model_gpu_(plan.model) {}

  void with_pipeline(TrialReading& reading);
  void on_resident_batches(TrialReading& reading);
  void read_memory(TrialReading& reading) const;

  // Fewer steps, for what another setting would give.
  void attempt(const std::string& title, TrialReading& reading);

 private:
  using Seen = std::function<void(const DeviceBatch&)>;

  bool is_stopped() const { return stopped_ && stopped_(); }
  std::shared_ptr<BatchFeed> full_feed() const;
  void fill_cache(std::int64_t steps) const;
  bool step_from(BatchFeed& feed, const Seen& before, double* host_seconds = nullptr);
  void measure_steps(const std::string& title, std::int64_t steps, TrialReading& reading);
  void warm_up(BatchFeed& feed, Progress& progress);
  void train_until_steady(BatchFeed& feed);
  void measure(BatchFeed& feed, std::int64_t wanted, TrialReading& reading, Progress& progress);
  std::vector<double> resident_steps(std::int64_t steps);
  void resident_step();
  LoneStep lone_step();

  const TrialSettings& trial_;
  const std::function<bool()>& stopped_;
  const StageProbe& probe_;
  // What the starting model and, without --cache-dir, the indexes and the cache leave on the disk.
  const ScratchFolder folder_{"profile"};
  const EffectiveConfig settings_;
  RunInputs inputs_;
  CheckpointStore checkpoints_;  // nothing is saved in it
  WiredTraining parts_;
  ResidentBatches resident_;
  std::int64_t kept_ = 0;  // steps
  std::int64_t kept_tokens_ = 0;
  GpuWatch data_gpu_;
  GpuWatch model_gpu_;
};

// One that is started at the first batch.
std::shared_ptr<BatchFeed> Trial::full_feed() const {
  auto feed = BatchFeeds(inputs_).training();
  feed->start({});
  feed->wait_until_ready();
  return feed;
}

// Computes what so many steps need, where there is a cache to keep it in, and the batches that are
// taken before they are counted.
void Trial::fill_cache(std::int64_t steps) const {
  if (parts_.data.cache() == nullptr) return;
  const auto feed = full_feed();
  // What stages work on ahead of the trainer counts as well, and as many until that is steady; an
  // epoch holds every clip.
  const std::int64_t ahead = 2 * batches_ahead(feed->options());
  const std::int64_t wanted = std::min(steps * parts_.plan.grad_accum + ahead,
                                       parts_.data.training().batches.steps_per_epoch());
  Progress progress({.title = "Filling the cache", .total = static_cast<std::uint64_t>(wanted)});
  for (std::int64_t batch = 0; batch < wanted; ++batch) {
    auto slot = feed->next();
    if (!slot) break;
    (*slot)->consumed.record(parts_.devices.model->stream());
    progress.advance();
  }
  feed->finish();
}

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
  for (std::int64_t step = 0; step < trial_.warm_up && !is_stopped(); ++step) {
    const bool keeps = trial_.resident > 0 && kept_ < kMostResident;
    const auto keep = [&](const DeviceBatch& batch) {
      if (!keeps) return;
      resident_.keep(batch);
      kept_tokens_ += all_tokens(batch);
    };
    if (!step_from(feed, keep)) return;
    kept_ += keeps ? 1 : 0;
    progress.advance();
  }
}

void Trial::train_until_steady(BatchFeed& feed) {
  const std::int64_t ahead = batches_ahead(feed.options());
  step_until_steady(
      {.ahead = ahead,
       .behind_buffer = ahead - static_cast<std::int64_t>(feed.options().buffer_batches),
       .batches_a_step = parts_.plan.grad_accum,
       .in_buffer = [&feed] { return feed.meters().queue("buffer").depth.current; },
       .step = [&] { return !is_stopped() && step_from(feed, [](const DeviceBatch&) {}); }});
}

void count(const DeviceBatch& batch, TrialReading& reading) {
  ++reading.batches;
  reading.clips += std::ssize(batch.clips);
  reading.audio_seconds += batch.audio_seconds;
  reading.tokens += all_tokens(batch);
  reading.useful_tokens += useful_tokens(batch);
}

void Trial::measure(BatchFeed& feed, std::int64_t wanted, TrialReading& reading,
                    Progress& progress) {
  const RoleDevice& device = *parts_.devices.model;
  std::vector<Event> marks;
  const PipelineReading before = feed.meters();
  const std::int64_t file_before = probe_.file_nanoseconds;
  const double cpu_before = process_seconds();
  const auto began = system_clock().now();
  mark(device, marks);
  std::int64_t steps = 0;
  std::int64_t tokens_before = 0;
  for (; steps < wanted && !is_stopped(); ++steps) {
    const auto seen = [&](const DeviceBatch& batch) { count(batch, reading); };
    if (!step_from(feed, seen, &reading.host_step_seconds)) break;
    mark(device, marks);
    reading.step_tokens.push_back(reading.tokens - std::exchange(tokens_before, reading.tokens));
    data_gpu_.look();
    model_gpu_.look();
    progress.advance();
  }
  reading.step_seconds = seconds_between(marks);
  reading.wall_seconds = seconds_between(began, system_clock().now());
  reading.cpu_seconds = process_seconds() - cpu_before;
  reading.file_seconds = 1e-9 * static_cast<double>(probe_.file_nanoseconds - file_before);
  reading.pipeline = between(before, feed.meters());
  reading.host_step_seconds /= static_cast<double>(std::max<std::int64_t>(1, steps));
}

void Trial::measure_steps(const std::string& title, std::int64_t steps, TrialReading& reading) {
  const std::int64_t all = trial_.warm_up + steps;
  fill_cache(all);
  Progress progress({.title = title, .total = static_cast<std::uint64_t>(all)});
  const auto feed = full_feed();
  warm_up(*feed, progress);
  train_until_steady(*feed);
  measure(*feed, steps, reading, progress);
  feed->finish();
}

void Trial::with_pipeline(TrialReading& reading) {
  measure_steps("Measuring", trial_.steps, reading);
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
  const RoleDevice& device = *parts_.devices.model;
  std::vector<Event> marks;
  mark(device, marks);
  for (std::int64_t step = 0; step < steps && !is_stopped(); ++step) {
    resident_step();
    mark(device, marks);
  }
  return seconds_between(marks);
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
  reading.resident_seconds = resident_steps(trial_.resident);
  reading.resident_tokens = static_cast<double>(kept_tokens_) / static_cast<double>(kept_);
  reading.lone = lone_step();
  parts_.trainer.finish();
}

void Trial::attempt(const std::string& title, TrialReading& reading) {
  measure_steps(title, std::min(trial_.steps, kMostTried), reading);
  parts_.trainer.finish();
}

void read_memory_of(const RoleDevice& device, RoleSeen& seen) {
  const MemoryReading memory = device.memory().read();
  seen.peak_bytes = memory.peak;
  seen.cap = memory.cap;
}

void Trial::read_memory(TrialReading& reading) const {
  read_memory_of(*parts_.devices.data, reading.data);
  read_memory_of(*parts_.devices.model, reading.model);
}

// Sets the knob, and what follows from it in the plan.
void turn(const Knob& knob, EffectiveConfig& settings, DevicePlan& plan) {
  const Field* field = find_field(knob.key);
  MYXTTS_CHECK(field != nullptr && field->assign({.text = knob.value}, settings.values),
               "{} cannot be {}", knob.key, knob.value);
  if (knob.key == "train.batch_tokens") plan.batch_tokens = settings.values.train.batch_tokens;
  if (knob.key == "train.batch_size") plan.batch_size = *settings.values.train.batch_size;
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
  StageProbe probe{.on_work = trial.on_work,
                   .token_counts = trial.token_counts,
                   .least_tokens = trial.least_tokens};
  TrialReading reading;
  {
    Trial phases(settings, plan, trial, probe, stopped);
    phases.with_pipeline(reading);
    phases.on_resident_batches(reading);
    phases.read_memory(reading);
  }
  if (trial.resident == 0 || reading.step_seconds.empty() || (stopped && stopped())) return reading;
  for (const Knob& knob : worth_trying(make_profile(profile_setup(settings, plan), reading))) {
    EffectiveConfig other = settings;
    DevicePlan other_plan = plan;
    turn(knob, other, other_plan);
    auto tried = std::make_shared<TrialReading>();
    try {
      Trial(other, other_plan, trial, probe, stopped).attempt("Trying " + knob.flag, *tried);
    } catch (const DeviceError& error) {
      log_info("profile", "{} cannot be tried: {}", knob.flag, error.what());
      tried = nullptr;  // it needs more memory than there is
    }
    reading.tried.push_back({.knob = knob, .reading = tried});
  }
  return reading;
}

}  // namespace myxtts
