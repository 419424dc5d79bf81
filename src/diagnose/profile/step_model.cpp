// SPDX-License-Identifier: Apache-2.0
#include "diagnose/profile/step_model.h"

#include <algorithm>

namespace myxtts {
namespace {

// Everything that grows with the clips of a step.
constexpr double StepModel::*kParts[] = {
    &StepModel::listing,  &StepModel::files,      &StepModel::decoding, &StepModel::decoding_cpu,
    &StepModel::batching, &StepModel::collating,  &StepModel::upload,   &StepModel::encoding,
    &StepModel::prompts,  &StepModel::transfer,   &StepModel::feeding,  &StepModel::sending,
    &StepModel::model,    &StepModel::unevenness, &StepModel::clips,    &StepModel::places};

// Seconds that a stage needs for the work of one step, by what it did in the measured time: its
// share of that work may be more than was used, while a buffer filled.
double for_a_step(double busy, double done, double a_step) {
  return done > 0 ? busy / done * a_step : 0.0;
}

void add_host_stages(StepModel& model, const TrialReading& reading, double steps) {
  const PipelineReading& pipeline = reading.pipeline;
  const StageReading& reader = pipeline.stage("reader");
  const StageReading& decoder = pipeline.stage("decoder");
  const double clips = static_cast<double>(reading.clips) / steps;
  const double batches = static_cast<double>(reading.batches) / steps;
  model.listing =
      for_a_step(seconds_in(reader.load.busy), static_cast<double>(reader.clips), clips);
  const auto decoded = static_cast<double>(decoder.clips);
  model.files = for_a_step(reading.file_seconds, decoded, clips);
  model.decoding =
      std::max(0.0, for_a_step(seconds_in(decoder.load.busy), decoded, clips) - model.files);
  model.decoding_cpu = for_a_step(decoder.cpu_seconds, decoded, clips);
  // Those that stood by do not count, and autotune may have changed the number on the way.
  const double worked = seconds_in(decoder.load.busy + decoder.load.waiting_for_input);
  model.workers = reading.wall_seconds > 0 ? std::max(1.0, worked / reading.wall_seconds) : 1.0;
  model.places = static_cast<double>(pipeline.queue("buffer").capacity) *
                 static_cast<double>(reading.clips) /
                 static_cast<double>(std::max<std::int64_t>(1, reading.batches));
  const auto left = static_cast<double>(pipeline.batches);
  model.batching = for_a_step(seconds_in(pipeline.stage("batcher").load.busy), left, batches);
  model.collating = for_a_step(seconds_in(pipeline.stage("collator").load.busy), left, batches);
}

void add_features(StepModel& model, const TrialReading& reading, double steps) {
  const FeatureTimeReading& times = reading.pipeline.features;
  const double batches = static_cast<double>(reading.batches) / steps;
  const auto done = static_cast<double>(times.batches);
  model.upload = for_a_step(times.upload_seconds, done, batches);
  model.encoding = for_a_step(times.encode_seconds, done, batches);
  model.prompts = for_a_step(times.prompt_seconds, done, batches);
  model.transfer = for_a_step(times.transfer_seconds, done, batches);
  model.feeding =
      for_a_step(seconds_in(reading.pipeline.stage("features").load.busy), done, batches);
  model.sending = std::min(model.feeding, for_a_step(times.sending_seconds, done, batches));
}

}  // namespace

double StepModel::decoders() const {
  const double together = files + decoding;
  return std::max(together / std::min(workers, places), decoding_cpu / cores);
}

// On a GPU the thread only hands the work over, and copies have a stream of their own.
double StepModel::features() const {
  if (serial) return std::max(feeding, upload + encoding + prompts + transfer);
  return std::max(feeding, upload + encoding + prompts);
}

double StepModel::transfers() const {
  return serial ? 0.0 : transfer;
}

double StepModel::slowest_stage() const {
  return std::max({listing, decoders(), batching, collating, features(), transfers()});
}

double StepModel::step() const {
  return std::max(slowest_stage(), model) + unevenness;
}

StepModel model_of(const Profile& profile) {
  const TrialReading& reading = profile.reading;
  const auto steps = static_cast<double>(std::max<std::size_t>(1, reading.step_seconds.size()));
  StepModel model;
  model.serial = !profile.setup.plan.data.gpu;
  model.cores = static_cast<double>(std::max<std::int64_t>(1, profile.setup.cores));
  model.clips = static_cast<double>(reading.clips) / steps;
  add_host_stages(model, reading, steps);
  add_features(model, reading, steps);
  model.model = profile.steps.mean * (1 - profile.waited_share);
  model.unevenness =
      std::max(0.0, profile.steps.mean - std::max(model.slowest_stage(), model.model));
  return model;
}

StepModel scaled(StepModel model, double factor) {
  for (double StepModel::*part : kParts) model.*part *= factor;
  return model;
}

StepModel changed_as(const StepModel& now, const StepModel& before, const StepModel& there) {
  StepModel after = now;
  const auto change = [&](double StepModel::*part) {
    after.*part = before.*part > 0 ? now.*part / before.*part * there.*part : there.*part;
  };
  for (double StepModel::*part : kParts) change(part);
  change(&StepModel::workers);
  return after;
}

StepModel with_holes_scaled(StepModel after, const StepModel& before) {
  const double now = std::max(before.slowest_stage(), before.model);
  const double then = std::max(after.slowest_stage(), after.model);
  after.unevenness = before.unevenness * std::min(1.0, now > 0 ? then / now : 0.0);
  return after;
}

}  // namespace myxtts
