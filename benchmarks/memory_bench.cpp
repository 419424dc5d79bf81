// SPDX-License-Identifier: Apache-2.0
//
// The memory model against the device: trains each size at each batch for a few steps, on random
// weights and clips of ten seconds with 120 text tokens, and compares what the model role took of
// its GPU with what was predicted. One JSON line for each case; ends with 1 where one is off by
// more than a tenth.
//
//   memory_bench [--sizes tiny,small,normal,big,xtts-v2] [--batches 3,16,64] [--savers]
//
// --savers adds, for the largest size at the second batch: fp32, accumulation, each memory saver
// and a step without a graph.
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <fmt/format.h>

#include "base/error.h"
#include "config/model.h"
#include "device/cuda_plugin.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/memory_estimate.h"
#include "model/named_tensors.h"
#include "support/training_batches.h"
#include "train/gpt/gpt_training.h"

namespace myxtts {
namespace {

constexpr std::int64_t kText = 120;
constexpr std::int64_t kCodes = 216;  // of ten seconds
constexpr std::int64_t kFrames = 517;
constexpr std::int64_t kSlots = 3;  // of a ring
constexpr int kSteps = 3;
constexpr double kTolerance = 0.10;

struct Case {
  std::string size = {};
  std::int64_t clips = 0;
  std::string name = "plain";
  GptTrainingSettings training = {.step = {.precision = Precision::Bf16, .graphs = true}};
};

struct Options {
  std::vector<std::string> sizes = {"tiny", "small", "normal", "big", "xtts-v2"};
  std::vector<std::int64_t> batches = {3, 16, 64};
  bool savers = false;
};

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--savers") {
      options.savers = true;
      continue;
    }
    if (i + 1 == arguments.size()) throw ConfigError(arguments[i] + " needs a value.");
    const auto values = parts_of(arguments[i + 1]);
    if (arguments[i] == "--sizes") {
      options.sizes = values;
    } else if (arguments[i] == "--batches") {
      options.batches.clear();
      for (const std::string& value : values) options.batches.push_back(std::stoll(value));
    } else {
      throw ConfigError(fmt::format("memory_bench does not know {}.", arguments[i]));
    }
    ++i;
  }
  return options;
}

std::vector<Case> saver_cases(const std::string& size, std::int64_t clips) {
  const auto with = [&](const std::string& name, auto change) {
    Case made{.size = size, .clips = clips, .name = name};
    change(made.training);
    return made;
  };
  return {with("fp32", [](auto& training) { training.step.precision = Precision::Fp32; }),
          with("eager", [](auto& training) { training.step.graphs = false; }),
          with("accumulated", [](auto& training) { training.step.batches_a_step = 2; }),
          with("moments bf16", [](auto& training) { training.savers.moments = Moments::Bf16; }),
          with("moments 8bit", [](auto& training) { training.savers.moments = Moments::EightBit; }),
          with("recompute", [](auto& training) { training.savers.recompute = true; }),
          with("recompute fp32",
               [](auto& training) {
                 training.savers.recompute = true;
                 training.step.precision = Precision::Fp32;
               }),
          with("release", [](auto& training) { training.savers.release_gradients = true; }),
          with("all savers", [](auto& training) {
            training.savers = {
                .recompute = true, .moments = Moments::EightBit, .release_gradients = true};
          })};
}

std::vector<Case> cases_of(const Options& options) {
  std::vector<Case> cases;
  for (const std::string& size : options.sizes) {
    for (const std::int64_t clips : options.batches)
      cases.push_back({.size = size, .clips = clips});
  }
  if (options.savers && options.batches.size() > 1) {
    for (const Case& made : saver_cases(options.sizes.back(), options.batches[1])) {
      cases.push_back(made);
    }
  }
  return cases;
}

RolePlan plan_for_first_gpu() {
  const auto gpus = require_cuda().devices();
  RolePlan plan;
  plan.gpu = PlannedGpu{.name = gpus.at(0).name, .memory_bytes = gpus.at(0).memory_bytes};
  return plan;
}

// Made outside of the role, which does not count them.
NamedTensors random_weights(const GptConfig& config) {
  NamedTensors weights;
  for (const auto& [name, weight] : initialise(gpt_specs(config), 1, c10::Device(c10::kCUDA, 0))) {
    weights.emplace(kGptPrefix + name, weight);
  }
  return weights;
}

RowSizes sizes_for(const GptConfig& config, std::int64_t clips) {
  const std::int64_t row = config.perceiver_latents + kText + 1 + kCodes + 4;
  return {.tokens = (clips * row + 63) / 64 * 64,
          .text_targets = clips * (kText + 1),
          .audio_targets = clips * (kCodes + 4),
          .longest = row + 64,
          .segments = clips + 1};
}

std::vector<DeviceBatch> ring_of(const GptConfig& config, RoleDevice& device, const RowSizes& sizes,
                                 std::int64_t clips) {
  const auto scope = device.enter(device.stream());
  std::vector<DeviceBatch> ring;
  for (std::int64_t seed = 1; seed <= kSlots; ++seed) {
    ring.push_back(test::random_batch(config, device,
                                      {.clips = clips,
                                       .shortest_text = kText,
                                       .longest_text = kText,
                                       .fewest_codes = kCodes,
                                       .most_codes = kCodes,
                                       .prompt_frames = kFrames,
                                       .sizes = sizes},
                                      static_cast<std::uint64_t>(seed)));
  }
  return ring;
}

double gigabytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

struct Measured {
  std::int64_t reserved = 0;
  std::int64_t allocated = 0;  // of it, at the same or another moment
};

Measured measure(const Case& given, const GptConfig& config, const NamedTensors& weights) {
  const auto allocator = c10::getDeviceAllocator(c10::kCUDA);
  const auto device = open_role_device(Role::Model, plan_for_first_gpu());
  const auto in_use = [&] {
    return allocator->getDeviceStats(0).allocated_bytes[0];  // of all pools
  };
  const std::int64_t before = in_use().current;
  allocator->resetPeakStats(0);
  GptTrainingSettings settings = given.training;
  settings.slots = given.clips;
  settings.sizes = {sizes_for(config, given.clips)};
  auto ring = ring_of(config, *device, settings.sizes[0], given.clips);
  const auto training = make_gpt_training(config, weights, *device, settings);
  for (int step = 0; step < kSteps; ++step) {
    for (std::int64_t batch = 0; batch < settings.step.batches_a_step; ++batch) {
      training->accumulate(ring[static_cast<std::size_t>(step) % ring.size()]);
    }
    training->update(1e-5);
  }
  training->finish_numbers();
  return {.reserved = device->memory().read().peak, .allocated = in_use().peak - before};
}

bool report(const Case& given, const ModelConfig& model, const Measured& measured) {
  const BatchShape batch = usual_batch(model.gpt, given.clips);
  const TrainingMemory predicted =
      training_memory(model, batch,
                      {.precision = given.training.step.precision,
                       .savers = given.training.savers,
                       .batches_a_step = given.training.step.batches_a_step});
  const std::int64_t total = predicted.total() + kSlots * slot_memory(model, batch);
  const double off = static_cast<double>(total) / static_cast<double>(measured.reserved) - 1;
  fmt::print(
      "{{\"size\": \"{}\", \"batch\": {}, \"case\": \"{}\", \"predicted_gb\": {:.3f}, "
      "\"measured_gb\": {:.3f}, \"off_percent\": {:.1f}, \"allocated_gb\": {:.3f}, "
      "\"weights\": {:.3f}, \"gradients\": {:.3f}, \"moments\": {:.3f}, \"layers\": {:.3f}, "
      "\"conditioning\": {:.3f}, \"heads\": {:.3f}, \"slack\": {:.3f}}}\n",
      given.size, given.clips, given.name, gigabytes(total), gigabytes(measured.reserved),
      100 * off, gigabytes(measured.allocated), gigabytes(predicted.weights),
      gigabytes(predicted.gradients), gigabytes(predicted.moments), gigabytes(predicted.layers),
      gigabytes(predicted.conditioning), gigabytes(predicted.heads), gigabytes(predicted.slack));
  std::fflush(stdout);
  return std::abs(off) <= kTolerance;
}

int run(const Options& options) {
  require_cuda();
  std::string size;
  NamedTensors weights;
  int off = 0;
  for (const Case& given : cases_of(options)) {
    const ModelConfig model = model_preset(given.size);
    if (given.size != size) weights = random_weights(model.gpt);
    size = given.size;
    try {
      if (!report(given, model, measure(given, model.gpt, weights))) ++off;
    } catch (const DeviceError& error) {
      fmt::print(stderr, "{} {} {}: {}\n", given.size, given.clips, given.name, error.what());
      ++off;
    }
  }
  fmt::print("# {} of the cases are off by more than a tenth\n", off);
  return off == 0 ? 0 : 1;
}

}  // namespace
}  // namespace myxtts

int main(int argc, char** argv) {
  try {
    return myxtts::run(myxtts::parse({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    fmt::print(stderr, "memory_bench: {}\n", error.what());
    return 1;
  }
}
