// SPDX-License-Identifier: Apache-2.0
//
// The training step of the decoder stage as DecoderTraining runs it, on random weights, rows of
// sixteen clips of six seconds and noise for sound: one JSON line for each size of windows with the
// milliseconds of a step without discriminators and with them (frozen GPT, both backward passes,
// both updates), memory, and the losses at the end.
//
//   decoder_bench [--size normal] [--windows 16,32,64] [--frames 32,64] [--precision bf16]
//                 [--steps 20] [--eager] [--cpu]
#include <chrono>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "device/cuda_plugin.h"
#include "device/torch_device.h"
#include "model/named_tensors.h"
#include "model/network_specs.h"
#include "model/vocoder.h"
#include "support/training_batches.h"
#include "train/decoder/decoder_training.h"

namespace myxtts {
namespace {

constexpr std::int64_t kClips = 16;
constexpr std::int64_t kCodes = 130;
constexpr std::int64_t kText = 80;
constexpr int kWarmUps = 3;
constexpr double kRate = 2e-4;

struct Options {
  std::string size = "normal";
  std::vector<std::int64_t> windows = {16, 32, 64};
  std::vector<std::int64_t> frames = {32, 64};
  std::string precision = "bf16";
  std::int64_t steps = 20;
  bool graphs = true;
  bool cpu = false;
};

std::vector<std::int64_t> numbers_in(const std::string& list) {
  std::vector<std::int64_t> numbers;
  std::istringstream in(list);
  for (std::string number; std::getline(in, number, ',');) numbers.push_back(std::stoll(number));
  return numbers;
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "--eager") options.graphs = false;
    if (flag == "--cpu") options.cpu = true;
    if (flag == "--eager" || flag == "--cpu") continue;
    if (++i == arguments.size()) throw ConfigError(flag + " needs a value.");
    const std::string& value = arguments[i];
    if (flag == "--size") {
      options.size = value;
    } else if (flag == "--windows") {
      options.windows = numbers_in(value);
    } else if (flag == "--frames") {
      options.frames = numbers_in(value);
    } else if (flag == "--precision") {
      options.precision = value;
    } else if (flag == "--steps") {
      options.steps = std::stoll(value);
    } else {
      throw ConfigError(fmt::format("decoder_bench does not know {}.", flag));
    }
  }
  return options;
}

std::unique_ptr<RoleDevice> open_device(const Options& options) {
  RolePlan plan;
  if (!options.cpu) {
    const auto gpus = require_cuda().devices();
    plan.gpu = PlannedGpu{.name = gpus.at(0).name, .memory_bytes = gpus.at(0).memory_bytes};
  }
  return open_role_device(Role::Model, plan);
}

NamedTensors random_weights(const ModelConfig& config) {
  NamedTensors weights = test::random_gpt_weights(config.gpt);
  for (const auto& [name, tensor] : initialise(decoder_specs(config.decoder), 1)) {
    weights.emplace(kDecoderPrefix + name, tensor);
  }
  return weights;
}

DeviceBatch batch_of(const ModelConfig& config, RoleDevice& device, std::int64_t windows,
                     std::int64_t frames) {
  const auto scope = device.enter(device.stream());
  DeviceBatch batch = test::random_batch(config.gpt, device,
                                         {.clips = kClips,
                                          .shortest_text = kText,
                                          .longest_text = kText,
                                          .fewest_codes = kCodes,
                                          .most_codes = kCodes,
                                          .prompt_frames = 517},
                                         1);
  at::manual_seed(1);
  const auto on = torch_device(device);
  batch.windows.weights = at::ones({windows}).to(on);
  batch.windows.clips = at::arange(windows, at::kLong).remainder(kClips).to(on);
  batch.windows.starts = at::arange(windows, at::kLong).mul(5).to(on);
  batch.windows.sound = (at::randn({windows, frames * config.decoder.output_hop}) * 0.1).to(on);
  batch.windows.voices = (at::randn({kClips, config.decoder.speaker_dim}) * 0.05).to(on);
  return batch;
}

// Milliseconds of a step.
double time_steps(PartTraining& training, DeviceBatch& batch, std::int64_t steps) {
  for (int i = 0; i < kWarmUps; ++i) {
    training.accumulate(batch);
    training.update(kRate);
  }
  training.finish_numbers();
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < steps; ++i) {
    training.accumulate(batch);
    training.update(kRate);
  }
  training.finish_numbers();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count() / static_cast<double>(steps);
}

void measure(const Options& options, std::int64_t windows, std::int64_t frames) {
  static const std::map<std::string, Precision> kPrecisions = {
      {"fp32", Precision::Fp32}, {"tf32", Precision::Tf32}, {"bf16", Precision::Bf16}};
  const auto device = open_device(options);
  const ModelConfig config = model_preset(options.size);
  const auto begun = std::chrono::steady_clock::now();
  const auto training =
      make_decoder_training(config, random_weights(config), *device,
                            {.step = {.precision = kPrecisions.at(options.precision),
                                      .weight_decay = 0.0,
                                      .graphs = options.graphs},
                             .windows = windows,
                             .window_frames = frames,
                             .mel_only_steps = options.steps + kWarmUps});
  const std::chrono::duration<double> ready = std::chrono::steady_clock::now() - begun;
  auto batch = batch_of(config, *device, windows, frames);
  const double mel_only = time_steps(*training, batch, options.steps);
  const double whole = time_steps(*training, batch, options.steps);
  training->accumulate(batch);
  training->update(kRate);
  const auto last = training->finish_numbers().at(0);
  fmt::print(
      "{{\"size\": \"{}\", \"windows\": {}, \"frames\": {}, \"precision\": \"{}\", \"graphs\": {}, "
      "\"ready_s\": {:.1f}, \"mel_only_ms\": {:.2f}, \"whole_ms\": {:.2f}, \"peak_gb\": {:.1f}, "
      "\"losses\": [{:.4f}]}}\n",
      options.size, windows, frames, options.precision, options.graphs, ready.count(), mel_only,
      whole, static_cast<double>(device->memory().read().peak) / 1e9, fmt::join(last.losses, ", "));
  std::fflush(stdout);
}

void run(const Options& options) {
  for (const auto frames : options.frames) {
    for (const auto windows : options.windows) measure(options, windows, frames);
  }
}

}  // namespace
}  // namespace myxtts

int main(int argc, char** argv) {
  try {
    myxtts::run(myxtts::parse({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
