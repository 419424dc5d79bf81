// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "diagnose/profile/profile.h"

namespace myxtts::test {

// A training that is worked out instead of run: seconds that each kind of work takes for one step.
struct MadeTraining {
  double listing = 0.001;
  double files = 0.002;     // all decoders together
  double decoding = 0.010;  // the same
  double decoding_cpu = 0.008;
  std::size_t workers = 2;
  double encoding = 0.020;
  double prompts = 0.005;
  double transfer = 0.001;
  double model = 0.100;
  double ceiling = 0.099;
  double waits_beside = 0;  // of a step, that come of unevenness
  int steps = 50;
  std::int64_t clips = 4;  // of a step

  double slowest() const {
    return std::max({listing, (files + decoding) / static_cast<double>(workers),
                     encoding + prompts + transfer});
  }
  double step() const { return std::max(slowest(), model) + waits_beside; }
};

inline std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * seconds));
}

// The reading that such a training gives on the CPU.
inline TrialReading reading_of(const MadeTraining& made) {
  const double steps = made.steps;
  const double wall = steps * made.step();
  const auto load = [wall](double busy, double threads = 1) {
    return LoadReading{.busy = nanoseconds(busy),
                       .waiting_for_input = nanoseconds(threads * wall - busy)};
  };
  TrialReading reading;
  reading.step_seconds.assign(static_cast<std::size_t>(made.steps), made.step());
  reading.step_tokens.assign(static_cast<std::size_t>(made.steps), 1000);
  reading.resident_seconds.assign(10, made.ceiling);
  reading.resident_tokens = 1000;
  reading.wall_seconds = wall;
  reading.batches = made.steps;
  reading.clips = made.steps * made.clips;
  reading.audio_seconds = 5.0 * static_cast<double>(reading.clips);
  reading.tokens = reading.useful_tokens = 1000 * made.steps;
  reading.file_seconds = steps * made.files;
  PipelineReading& pipeline = reading.pipeline;
  const std::int64_t clips = reading.clips;
  pipeline.stages = {
      {.name = "reader", .load = load(steps * made.listing), .clips = clips},
      {.name = "decoder",
       .workers = made.workers,
       .load = load(steps * (made.files + made.decoding), static_cast<double>(made.workers)),
       .clips = clips,
       .cpu_seconds = steps * made.decoding_cpu},
      {.name = "batcher", .load = load(steps * 0.0001)},
      {.name = "collator", .load = load(steps * 0.0001)},
      {.name = "features", .load = load(steps * (made.encoding + made.prompts + made.transfer))}};
  pipeline.queues = {{.name = "clips", .capacity = 64},
                     {.name = "buffer", .capacity = 4},
                     {.name = "settled", .capacity = 1},
                     {.name = "staged", .capacity = 1},
                     {.name = "ring", .capacity = 3}};
  pipeline.batches = made.steps;
  const double waited = steps * (made.step() - made.model);
  pipeline.readiness = {
      .steps = made.steps, .ready = waited > 0 ? 0 : made.steps, .waited_seconds = waited};
  pipeline.model_device = {.batches = made.steps, .busy_seconds = steps * made.model};
  pipeline.features = {.batches = made.steps,
                       .encode_seconds = steps * made.encoding,
                       .prompt_seconds = steps * made.prompts,
                       .transfer_seconds = steps * made.transfer,
                       .sending_seconds = steps * made.transfer,
                       .transfer_bytes = made.steps * 10'000};
  return reading;
}

inline Profile made_profile(const MadeTraining& made, ProfileSetup setup = {}) {
  setup.plan.batch_size = made.clips;
  setup.cores = std::max<std::int64_t>(setup.cores, 8);
  return make_profile(setup, reading_of(made));
}

}  // namespace myxtts::test
