// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/remedies.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "config/field.h"

namespace myxtts {
namespace {

// One of the two, never both.
std::string_view batch_key(const DevicePlan& plan) {
  return plan.batch_tokens ? "train.batch_tokens" : "train.batch_size";
}

constexpr double kHeadroom = 1.2;           // a stage that is just fast enough is not fast enough
constexpr double kMemoryBandwidth = 2e9;    // bytes a second that no copy within a machine is below
constexpr double kClearlySlower = 0.1;      // a step beside other work than alone
constexpr std::int64_t kMostBuffer = 1000;  // batches
constexpr std::int64_t kLargestBatchFactor = 8;

const Knob kCache{"--cache-dataset", "data.cache_dataset", "true"};

bool share_a_device(const DevicePlan& plan) {
  if (!plan.model.gpu || !plan.data.gpu) return !plan.model.gpu && !plan.data.gpu;
  return plan.mode == Mode::Single || plan.mode == Mode::Split;
}

// How far the difference of the mean step and the mean resident step may be off by chance.
double doubt(const Profile& profile) {
  const auto error = [](const std::vector<double>& seconds) {
    const StepStatistics steps = statistics_of(seconds);
    return steps.mean * steps.variation /
           std::sqrt(static_cast<double>(std::max<std::size_t>(1, seconds.size())));
  };
  return std::hypot(error(profile.reading.step_seconds), error(profile.reading.resident_seconds));
}

// The features' work that runs where the model does, and takes that much of its time away at most.
double interference(const Profile& profile, const StepModel& model) {
  if (!profile.ceiling_seconds || !share_a_device(profile.setup.plan)) return 0;
  const double slower = model.model - *profile.ceiling_seconds;
  if (slower < std::max(kClearlySlower * *profile.ceiling_seconds, 3 * doubt(profile))) return 0;
  return std::min(slower, model.encoding + model.prompts + model.upload);
}

// Time of the model's work that goes with a part of the features' work.
void relieve(StepModel& model, double interference, double removed, double all) {
  model.model -= interference * share_of(removed, all);
}

void take_from_features(StepModel& model, double seconds) {
  model.feeding = model.serial ? std::max(0.0, model.feeding - seconds) : model.feeding;
}

// What the feature stage's thread hands over besides copies to the model device: on a GPU that is
// short, unless something holds it up.
double computing(const StepModel& model) {
  return model.feeding - model.sending;
}

// Clips come as codes and samples from the cache: nothing is read, decoded or encoded any more.
StepModel with_cache(const Profile& profile, const StepModel& model) {
  StepModel after = model;
  relieve(after, interference(profile, model), model.encoding,
          model.encoding + model.prompts + model.upload);
  after.listing = 0;
  after.files = 0;
  after.decoding = 0;
  after.decoding_cpu = 0;
  take_from_features(after, model.encoding);
  if (!model.serial) {
    after.feeding =
        model.sending + computing(model) * share_of(model.prompts, model.prompts + model.encoding);
  }
  after.encoding = 0;
  return with_holes_scaled(after, model);
}

// The cache where it can be used and is not in use already.
void add_cache(Remedy& remedy, const Profile& profile, const StepModel& model) {
  remedy.after = remedy.without;
  if (profile.setup.cache_dataset || profile.setup.shift_clips) return;
  remedy.knob = kCache;
  remedy.remark =
      "from the second epoch on; myxtts prepare --codes fills the cache before the first";
  remedy.after = with_cache(profile, model);
}

Remedy reading(const Profile& profile, const StepModel& model) {
  Remedy remedy{.cause = Cause::Reading};
  remedy.without = model;
  remedy.without.listing = 0;
  remedy.without.files = 0;
  remedy.without = with_holes_scaled(remedy.without, model);
  remedy.reason = fmt::format(
      "asking for files takes the reader {} a step, and waiting for them takes each of {:.0f} "
      "decoders {}",
      human_milliseconds(model.listing), model.workers,
      human_milliseconds(model.files / model.workers));
  add_cache(remedy, profile, model);
  return remedy;
}

// So many decoders that they take `wanted` seconds a step, or as many as the buffer has clips for.
// False: they would not help.
bool add_workers(Remedy& remedy, const StepModel& model, double wanted) {
  if (wanted <= 0 || model.decoding_cpu / model.cores > wanted) return false;
  const double enough = std::ceil((model.files + model.decoding) / wanted);
  const double workers = std::min(enough, std::floor(model.places));
  if (workers <= model.workers) return false;
  remedy.knob = number_knob("data.num_workers", static_cast<std::int64_t>(workers));
  if (!remedy.knob) return false;
  if (workers < enough) {
    remedy.remark = fmt::format(
        "more would find nothing to do: --buffer-size has places for {:.0f} clips", model.places);
  }
  remedy.after = model;
  remedy.after.workers = workers;
  remedy.after = with_holes_scaled(remedy.after, model);
  return true;
}

Remedy decoding(const Profile& profile, const StepModel& model) {
  Remedy remedy{.cause = Cause::Decoding};
  remedy.without = model;
  remedy.without.decoding = 0;
  remedy.without.decoding_cpu = 0;
  remedy.without = with_holes_scaled(remedy.without, model);
  remedy.reason = fmt::format("decoding keeps each of {:.0f} decoders busy for {} of a step of {}",
                              model.workers, human_milliseconds(model.decoding / model.workers),
                              human_milliseconds(model.step()));
  StepModel others = model;
  others.files = 0;
  others.decoding = 0;
  others.decoding_cpu = 0;
  if (add_workers(remedy, model, std::max(others.slowest_stage(), model.model) / kHeadroom)) {
    return remedy;
  }
  add_cache(remedy, profile, model);
  remedy.reason += fmt::format(", and {:.0f} cores cannot decode faster", model.cores);
  return remedy;
}

Remedy features(const Profile& profile, const StepModel& model) {
  Remedy remedy{.cause = Cause::Features};
  const double beside = interference(profile, model);
  remedy.without = model;
  relieve(remedy.without, beside, 1, 1);
  take_from_features(remedy.without, model.encoding + model.prompts);
  if (!model.serial) remedy.without.feeding = model.sending;
  remedy.without.encoding = 0;
  remedy.without.prompts = 0;
  remedy.without = with_holes_scaled(remedy.without, model);
  remedy.reason =
      fmt::format("codes take the data device {} a step and prompts {}, of a step of {}",
                  human_milliseconds(model.encoding), human_milliseconds(model.prompts),
                  human_milliseconds(model.step()));
  if (beside > 0) {
    remedy.reason += fmt::format("; the model's own work takes {} longer beside them",
                                 human_milliseconds(beside));
  }
  add_cache(remedy, profile, model);
  return remedy;
}

// Seconds a step that the measured bytes need at least, however they are copied.
double copying_of(const Profile& profile, const StepModel& model) {
  const TrialReading& reading = profile.reading;
  const FeatureTimeReading& features = reading.pipeline.features;
  const double a_batch =
      share_of(static_cast<double>(features.transfer_bytes), static_cast<double>(features.batches));
  const double batches = share_of(static_cast<double>(reading.batches),
                                  static_cast<double>(reading.step_seconds.size()));
  return std::min(model.transfer, a_batch * batches / kMemoryBandwidth);
}

// Copies that are slower than any memory wait for something else, whatever their size: fewer and
// larger ones wait less often. So large that the model is the slowest again, if that can be.
void add_larger_batch(Remedy& remedy, const Profile& profile, const StepModel& model) {
  const double copying = copying_of(profile, model);
  const double waiting = model.transfer - copying;
  if (waiting < 0.5 * model.transfer) return;
  const double held_up = std::min(waiting, model.sending);  // the thread, meanwhile
  StepModel others = model;
  others.transfer = copying;
  others.feeding -= held_up;
  others.sending -= held_up;
  std::int64_t factor = 1;
  do {
    ++factor;
    remedy.after = scaled(others, static_cast<double>(factor));
    remedy.after.transfer += waiting;
    remedy.after.feeding += held_up;
    remedy.after.sending += held_up;
  } while (remedy.after.slowest_stage() > remedy.after.model && factor < kLargestBatchFactor);
  remedy.knob = larger_batch(profile.setup.plan, factor);
  if (!remedy.knob) {
    remedy.after = remedy.without;
    return;
  }
  remedy.remark = "larger batches are larger steps: the learning rate may want to grow with them";
  const Tried* tried = tried_with(profile, *remedy.knob);
  if (tried == nullptr) return;
  remedy.after = with_tried(profile, model, *tried);
  if (tried->reading) return;
  remedy.remark = remedy.knob->flag + " would wait less, but does not fit";
  remedy.knob.reset();
}

Remedy transfer(const Profile& profile, const StepModel& model) {
  Remedy remedy{.cause = Cause::Transfer};
  remedy.without = model;
  take_from_features(remedy.without, model.upload);
  remedy.without.feeding = std::max(0.0, remedy.without.feeding - model.sending);
  remedy.without.sending = 0;
  remedy.without.transfer = 0;
  remedy.without.upload = 0;
  remedy.without.collating = 0;
  remedy.without = with_holes_scaled(remedy.without, model);
  remedy.reason = fmt::format(
      "copies to the model device take {} a step, by {}, and those to the data device {}",
      human_milliseconds(model.transfer), name_of(profile.setup.plan.path),
      human_milliseconds(model.upload));
  remedy.after = remedy.without;
  if (profile.setup.host_path_was_asked) {
    remedy.knob = Knob{"--transfer-path auto", "devices.transfer_path", "auto"};
    remedy.remark = "peer access is used where the cards have it";
  } else {
    add_larger_batch(remedy, profile, model);
  }
  return remedy;
}

// Unevenness is bridged by batches that are ready. How many: as long as the longest hole lasts.
Remedy oscillation(const Profile& profile, const StepModel& model) {
  Remedy remedy{.cause = Cause::Oscillation};
  remedy.without = model;
  remedy.without.unevenness = 0;
  remedy.after = remedy.without;
  const PipelineReading& pipeline = profile.reading.pipeline;
  const QueueReading& buffer = pipeline.queue("buffer");
  remedy.reason = fmt::format(
      "steps differ by {:.0f} % (the longest took {}), although no stage is busy all the time: "
      "batches come in bursts",
      100 * profile.steps.variation, human_milliseconds(profile.steps.highest));
  const double batches = static_cast<double>(profile.setup.plan.grad_accum) *
                         profile.steps.highest / std::max(1e-9, remedy.without.step());
  const auto more = static_cast<std::int64_t>(std::ceil(kHeadroom * batches));
  remedy.knob = number_knob("data.pipeline_buffer_size",
                            std::min(kMostBuffer, static_cast<std::int64_t>(buffer.capacity) +
                                                      std::max<std::int64_t>(4, 2 * more)));
  return remedy;
}

}  // namespace

std::optional<Knob> number_knob(std::string_view key, std::int64_t value) {
  const Field* field = find_field(key);
  MYXTTS_CHECK(field != nullptr, "there is no setting {}", key);
  const std::string text = std::to_string(value);
  RunConfig unused;
  if (!field->assign({.text = text}, unused)) return std::nullopt;
  return Knob{fmt::format("{} {}", field->flag, text), field->key, text};
}

std::optional<Knob> larger_batch(const DevicePlan& plan, std::int64_t factor) {
  return number_knob(batch_key(plan), factor * plan.batch_tokens.value_or(plan.batch_size));
}

bool is_batch_knob(const Knob& knob, const DevicePlan& plan) {
  return knob.key == batch_key(plan);
}

std::vector<Remedy> remedies(const Profile& profile, const StepModel& model) {
  std::vector<Remedy> all{reading(profile, model), decoding(profile, model),
                          features(profile, model), transfer(profile, model),
                          oscillation(profile, model)};
  for (const Remedy& remedy : step_remedies(profile, model)) all.push_back(remedy);
  return all;
}

namespace {

constexpr std::size_t kMostFindings = 3;

double seconds_a_clip(const StepModel& model) {
  return model.clips > 0 ? model.step() / model.clips : 0.0;
}

// How much less time a clip would take.
double saving(const StepModel& then, const StepModel& now) {
  const double seconds = seconds_a_clip(now);
  return seconds > 0 ? 1 - seconds_a_clip(then) / seconds : 0.0;
}

double cost_share(const Remedy& remedy, const StepModel& now) {
  return saving(remedy.without, now);
}

// Unevenness is what is left when everything is explained, so the machine's own noise is in it; and
// a small cost that its knob leaves in place is no more than such noise.
bool is_worth_reporting(const Remedy& remedy, const StepModel& now) {
  const bool may_be_noise = remedy.cause == Cause::Oscillation ||
                            (remedy.knob && saving(remedy.after, now) < kWorthReporting);
  return cost_share(remedy, now) >= (may_be_noise ? 2 : 1) * kWorthReporting;
}

const Remedy* largest(const std::vector<Remedy>& remedies, const StepModel& now,
                      const std::vector<Finding>& named) {
  const Remedy* found = nullptr;
  for (const Remedy& remedy : remedies) {
    const bool is_named = std::ranges::find(named, remedy.cause, &Finding::cause) != named.end();
    if (is_named || !is_worth_reporting(remedy, now)) continue;
    if (found == nullptr || cost_share(remedy, now) > cost_share(*found, now)) found = &remedy;
  }
  return found;
}

Finding finding_of(const Remedy& remedy, const StepModel& now) {
  return {.cause = remedy.cause,
          .cost_share = cost_share(remedy, now),
          .reason = remedy.reason,
          .knob = remedy.knob,
          .remark = remedy.remark,
          .predicted_step_seconds = remedy.after.step(),
          .predicted_clips_per_second = remedy.after.clips_per_second()};
}

// The host is what a step waits for when the device has so small a part of it left to do once the
// host is through.
constexpr double kLeftToDo = 0.15;

bool host_is_slower(const TrialReading& reading) {
  if (!reading.lone) return false;
  const LoneStep& lone = *reading.lone;
  return lone.after_seconds < kLeftToDo * (lone.host_seconds + lone.after_seconds);
}

}  // namespace

std::vector<Finding> find_causes(const Profile& profile) {
  std::vector<Finding> findings;
  StepModel model = model_of(profile);
  while (findings.size() < kMostFindings) {
    const std::vector<Remedy> all = remedies(profile, model);
    const Remedy* found = largest(all, model, findings);
    if (found == nullptr) break;
    findings.push_back(finding_of(*found, model));
    if (!found->knob) break;  // what comes after a cause that stays is not known
    model = found->after;
  }
  if (findings.empty()) findings.push_back(model_bound(profile, model));
  if (auto pressure = memory_pressure(profile)) findings.push_back(std::move(*pressure));
  return findings;
}

std::vector<Knob> worth_trying(const Profile& profile) {
  const TrialReading& reading = profile.reading;
  const DevicePlan& plan = profile.setup.plan;
  std::vector<Knob> knobs;
  const auto& named = profile.findings.front().knob;
  if (named && is_batch_knob(*named, plan)) knobs.push_back(*named);
  if (plan.model.gpu && !profile.setup.static_shapes && host_is_slower(reading)) {
    knobs.push_back({"--enable-static-shapes", "train.enable_static_shapes", "true"});
  }
  const auto budget = padding_knob(profile);
  if (budget && std::ranges::find(knobs, *budget) == knobs.end()) knobs.push_back(*budget);
  return knobs;
}

}  // namespace myxtts
