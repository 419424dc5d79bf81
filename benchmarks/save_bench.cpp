// SPDX-License-Identifier: Apache-2.0
//
// What a checkpoint costs training: steps of the whole XTTS v2 GPT while its 5.3 GB are written.
//
//   save_bench FOLDER BATCH STEPS [CAP_MB]
//
// Saves at a fifth and at seven tenths of the steps. Times are the GPU's own, from the end of one
// step to that of the next, and the host's around each step.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "device/role_device.h"
#include "run/checkpoint_saver.h"
#include "support/training_batches.h"
#include "train/gpt/gpt_training.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

constexpr std::int64_t kCodes = 216;  // ten seconds
constexpr std::int64_t kText = 120;
constexpr std::int64_t kFrames = 517;   // of a prompt of six seconds
constexpr std::size_t kStepsAhead = 3;  // as many as the ring has slots

struct StepTime {
  double device_ms = 0;
  double host_ms = 0;
  bool saving = false;
};

RowSizes sizes_for(const GptConfig& config, std::int64_t clips) {
  const std::int64_t row = config.perceiver_latents + kText + 1 + kCodes + 4;
  return {.tokens = (clips * row + 63) / 64 * 64,
          .text_targets = clips * (kText + 1),
          .audio_targets = clips * (kCodes + 4),
          .longest = row + 64,
          .segments = clips + 1};
}

struct Bench {
  Bench(const fs::path& folder, std::int64_t batch_size, const RolePlan& plan)
      : device(open_role_device(Role::Model, plan)),
        scope(device->enter(device->stream())),
        batch(test::random_batch(config, *device,
                                 {.clips = batch_size,
                                  .shortest_text = kText,
                                  .longest_text = kText,
                                  .fewest_codes = kCodes,
                                  .most_codes = kCodes,
                                  .prompt_frames = kFrames,
                                  .sizes = sizes_for(config, batch_size)},
                                 1)),
        training(make_gpt_training(
            config, test::random_gpt_weights(config), *device,
            {.step = {.precision = Precision::Bf16, .grad_clip = 1.0, .graphs = true},
             .sizes = {sizes_for(config, batch_size)},
             .slots = batch_size})),
        store(folder),
        saver(store, *device, {}, {}) {
    saver.prepare({.weights = training->weights(), .optimiser = training->optimiser()});
  }

  double save() {
    const auto start = std::chrono::steady_clock::now();
    saver.save({.state = {.step = training->step()},
                .weights = training->weights(),
                .optimiser = training->optimiser()});
    return Seconds(std::chrono::steady_clock::now() - start).count() * 1e3;
  }

  const GptConfig config = {};
  std::unique_ptr<RoleDevice> device;
  std::unique_ptr<RoleDevice::Scope> scope;
  DeviceBatch batch;
  std::unique_ptr<PartTraining> training;
  CheckpointStore store;
  CheckpointSaver saver;
};

bool saved(const fs::path& folder, std::int64_t step) {
  return fs::exists(folder / "checkpoints" / fmt::format("step-{:07}", step));
}

std::vector<StepTime> measure(Bench& bench, const fs::path& folder, std::int64_t steps) {
  std::vector<StepTime> times;
  std::vector<Event> marks;
  std::int64_t at_work = -1;
  auto save_start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (i == steps / 5 || i == steps * 7 / 10) {
      at_work = bench.training->step();
      save_start = start;
      fmt::print("save() took {:.1f} ms of the host\n", bench.save());
    }
    bench.training->accumulate(bench.batch);
    bench.training->update(1e-6);
    marks.push_back(bench.device->make_event());
    marks.back().record(bench.device->stream());
    if (marks.size() > kStepsAhead) marks[marks.size() - 1 - kStepsAhead].wait();
    (void)bench.training->take_numbers();
    times.push_back({.host_ms = Seconds(std::chrono::steady_clock::now() - start).count() * 1e3,
                     .saving = at_work >= 0});
    if (at_work >= 0 && saved(folder, at_work)) {
      fmt::print("the checkpoint of step {} was in place after {:.2f} s\n", at_work,
                 Seconds(std::chrono::steady_clock::now() - save_start).count());
      at_work = -1;
    }
  }
  marks.back().wait();
  for (std::size_t i = 1; i < marks.size(); ++i) {
    times[i].device_ms = marks[i].milliseconds_since(marks[i - 1]);
  }
  return times;
}

void report(std::vector<StepTime> times) {
  times.erase(times.begin(), times.begin() + 5);  // the first ones warm up
  std::vector<double> quiet;
  double longest_device = 0;
  double longest_host = 0;
  std::int64_t saving = 0;
  for (const auto& time : times) {
    if (!time.saving) quiet.push_back(time.device_ms);
    if (!time.saving) continue;
    ++saving;
    longest_device = std::max(longest_device, time.device_ms);
    longest_host = std::max(longest_host, time.host_ms);
  }
  std::ranges::sort(quiet);
  const double median = quiet[quiet.size() / 2];
  fmt::print("steps without a save: {}, median {:.1f} ms, longest {:.1f} ms\n", quiet.size(),
             median, quiet.back());
  fmt::print(
      "steps while saving: {}, longest {:.1f} ms (median + {:.1f} ms), on the host {:.1f} ms\n",
      saving, longest_device, longest_device - median, longest_host);
}

int run(const std::vector<std::string>& arguments) {
  RolePlan plan{.gpu = PlannedGpu{}};
  if (arguments.size() > 3) plan.memory_cap_bytes = std::stoll(arguments[3]) * 1'000'000;
  const fs::path folder = arguments[0];
  Bench bench(folder, std::stoll(arguments[1]), plan);
  const auto times = measure(bench, folder, std::stoll(arguments[2]));
  report(times);
  const bool whole = bench.saver.finish();
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder / "latest")) bytes += entry.file_size();
  fmt::print("a checkpoint of {} bytes, {}; {} bytes of the GPU reserved at most\n", bytes,
             whole ? "whole" : "NOT WRITTEN", bench.device->memory().read().peak);
  return whole ? 0 : 1;
}

}  // namespace
}  // namespace myxtts

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.size() < 3) {
    std::cerr << "usage: save_bench FOLDER BATCH STEPS [CAP_MB]\n";
    return 2;
  }
  return myxtts::run(arguments);
}
