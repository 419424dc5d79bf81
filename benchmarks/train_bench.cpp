// SPDX-License-Identifier: Apache-2.0
//
// The training step of xtts-v2 as GptTraining runs it, on random weights and packed rows of clips
// of ten seconds with 120 text tokens: one JSON line for each batch size with the median by events
// (forward, backward, clipping, AdamW), memory, and, with --profile, the kernels over 0.2 %.
//
//   train_bench --batch 3,16,32,64 [--precision bf16] [--steps 30] [--accum 1] [--eager]
//               [--deterministic] [--dropout 0.1] [--recompute] [--moments fp32|bf16|8bit]
//               [--release] [--cap MB] [--profile] [--losses] [--seed 1] [--size xtts-v2]
//               [--plain: no kernel of ours] [--libtorch-attention: not ours]
//               [--spread: clips of half the length and more]
//               [--ranks off|fp32|bf16: as the only rank of a run, gradients summed in these over
//               NCCL] [--shard: with parts of the averages]
//               [--different 4: batches that are taken in turn]
//               [--timeline FILE: with --profile, start, ns and name of each kernel of three steps]
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include "base/error.h"
#include "config/model.h"
#include "device/cuda_plugin.h"
#include "kernels/cuda_kernels.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/named_tensors.h"
#include "parallel/rank_processes.h"
#include "parallel/rank_team.h"
#include "support/training_batches.h"
#include "train/gpt/gpt_training.h"

namespace myxtts {
namespace {

constexpr std::int64_t kText = 120;
constexpr std::int64_t kCodes = 216;  // of ten seconds
constexpr std::int64_t kFrames = 517;
constexpr int kWarmUps = 5;
constexpr int kProfiled = 3;
constexpr double kRate = 1e-5;
constexpr double kLeastShare = 0.002;  // of the kernels that are shown

struct Options {
  std::vector<std::int64_t> batches = {3, 16, 32, 64};
  GptTrainingSettings training = {
      .step = {.precision = Precision::Bf16, .grad_clip = 1.0, .graphs = true}};
  std::int64_t steps = 30;
  std::int64_t cap_mb = 0;
  std::uint64_t different = 4;  // batches
  bool profile = false;
  bool losses = false;
  bool plain = false;
  bool libtorch_attention = false;
  bool spread = false;
  std::optional<Wire> ranks;  // nothing: no rank of anything
  std::string size = "xtts-v2";
  std::string timeline;
};

std::vector<std::int64_t> numbers_in(const std::string& list) {
  std::vector<std::int64_t> numbers;
  std::istringstream in(list);
  for (std::string number; std::getline(in, number, ',');) numbers.push_back(std::stoll(number));
  return numbers;
}

// True where the flag takes no value.
bool read_switch(const std::string& flag, Options& options) {
  GptTrainingSettings& training = options.training;
  const std::map<std::string, bool*> on = {{"--profile", &options.profile},
                                           {"--losses", &options.losses},
                                           {"--plain", &options.plain},
                                           {"--libtorch-attention", &options.libtorch_attention},
                                           {"--spread", &options.spread},
                                           {"--deterministic", &training.step.deterministic},
                                           {"--recompute", &training.savers.recompute},
                                           {"--shard", &training.shard},
                                           {"--release", &training.savers.release_gradients}};
  if (flag == "--eager") training.step.graphs = false;
  if (on.contains(flag)) *on.at(flag) = true;
  return flag == "--eager" || on.contains(flag);
}

void read_value(const std::string& flag, const std::string& value, Options& options) {
  static const std::map<std::string, Precision> kPrecisions = {{"fp32", Precision::Fp32},
                                                               {"tf32", Precision::Tf32},
                                                               {"bf16", Precision::Bf16},
                                                               {"fp16", Precision::Fp16}};
  static const std::map<std::string, Moments> kMoments = {
      {"fp32", Moments::Fp32}, {"bf16", Moments::Bf16}, {"8bit", Moments::EightBit}};
  static const std::map<std::string, Wire> kWires = {{"fp32", Wire::Fp32}, {"bf16", Wire::Bf16}};
  GptTrainingSettings& training = options.training;
  if (flag == "--batch") {
    options.batches = numbers_in(value);
  } else if (flag == "--precision") {
    training.step.precision = kPrecisions.at(value);
  } else if (flag == "--moments") {
    training.savers.moments = kMoments.at(value);
  } else if (flag == "--steps") {
    options.steps = std::stoll(value);
  } else if (flag == "--accum") {
    training.step.batches_a_step = std::stoll(value);
  } else if (flag == "--dropout") {
    training.dropout = std::stod(value);
  } else if (flag == "--seed") {
    training.step.seed = std::stoull(value);
  } else if (flag == "--size") {
    options.size = value;
  } else if (flag == "--ranks") {
    if (value != "off") options.ranks = kWires.at(value);
  } else if (flag == "--different") {
    options.different = std::stoull(value);
  } else if (flag == "--timeline") {
    options.timeline = value;
  } else if (flag == "--cap") {
    options.cap_mb = std::stoll(value);
  } else {
    throw ConfigError(fmt::format("train_bench does not know {}.", flag));
  }
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (read_switch(arguments[i], options)) continue;
    if (i + 1 == arguments.size()) throw ConfigError(arguments[i] + " needs a value.");
    read_value(arguments[i], arguments[i + 1], options);
    ++i;
  }
  if (options.training.savers.release_gradients) options.training.step.grad_clip.reset();
  return options;
}

RolePlan plan_for(const Options& options) {
  const auto gpus = require_cuda().devices();
  RolePlan plan;
  plan.gpu = PlannedGpu{.name = gpus.at(0).name, .memory_bytes = gpus.at(0).memory_bytes};
  if (options.cap_mb > 0) plan.memory_cap_bytes = options.cap_mb * 1'000'000;
  return plan;
}

// Made outside of the role, so that its cap does not count them.
NamedTensors random_weights(const GptConfig& config) {
  NamedTensors weights;
  for (const auto& [name, weight] : initialise(gpt_specs(config), 1, c10::Device(c10::kCUDA, 0))) {
    weights.emplace(kGptPrefix + name, weight);
  }
  for (auto& [name, weight] : weights) {
    if (name.ends_with("proj_out.weight")) weight.normal_(0.0, 0.02);
  }
  return weights;
}

RowSizes sizes_for(const GptConfig& config, std::int64_t clips, bool spread) {
  const std::int64_t row = config.perceiver_latents + kText + 1 + kCodes + 4;
  return {.tokens = (clips * row + 7) / 8 * 8,
          .text_targets = clips * (kText + 1),
          .audio_targets = clips * (kCodes + 4),
          .longest = row,
          // Of padding, where clips are spread, half may be.
          .segments = clips + (spread ? (clips + 1) / 2 : 0) + 1};
}

struct StepTimes {
  std::vector<double> whole;   // ms
  std::vector<double> update;  // ms of clipping and AdamW
};

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

// `passed` is recorded between the passes and the update.
void train_step(PartTraining& training, DeviceBatch& batch, std::int64_t batches,
                Event* passed = nullptr) {
  for (std::int64_t i = 0; i < batches; ++i) training.accumulate(batch);
  if (passed != nullptr) passed->record(training.device().stream());
  training.update(kRate);
}

struct Kernels {
  struct Sum {
    double ms = 0;
    int calls = 0;
  };
  std::map<std::string, Sum> by_name;  // of one step
  double busy_ms = 0;
  double between_ms = 0;  // from the first kernel to the last, less the time of all
};

Kernels profile(PartTraining& training, DeviceBatch& batch, const Options& options) {
  namespace profiler = torch::profiler::impl;
  const std::set<profiler::ActivityType> kernels = {profiler::ActivityType::CUDA};
  const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
  torch::autograd::profiler::prepareProfiler(config, kernels);
  torch::autograd::profiler::enableProfiler(config, kernels);
  for (int i = 0; i < kProfiled; ++i) train_step(training, batch, 1);
  training.finish_numbers();
  const auto result = torch::autograd::profiler::disableProfiler();
  Kernels found;
  std::map<std::int64_t, std::pair<std::int64_t, std::string>> by_start;
  for (const auto& event : result->events()) {
    if (event.deviceType() != c10::DeviceType::CUDA) continue;
    const double ms = static_cast<double>(event.durationNs()) / 1e6 / kProfiled;
    auto& sum = found.by_name[event.name()];
    sum.ms += ms;
    ++sum.calls;
    found.busy_ms += ms;
    by_start[static_cast<std::int64_t>(event.startNs())] = {event.durationNs(), event.name()};
  }
  const auto& [last, last_one] = *by_start.rbegin();
  const std::int64_t first = by_start.begin()->first;
  found.between_ms =
      static_cast<double>(last + last_one.first - first) / 1e6 / kProfiled - found.busy_ms;
  if (options.timeline.empty()) return found;
  std::ofstream out(options.timeline);
  for (const auto& [start, kernel] : by_start) {
    fmt::print(out, "{}\t{}\t{}\n", start - first, kernel.first, kernel.second.substr(0, 100));
  }
  return found;
}

void print_kernels(const Kernels& kernels) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, sum] : kernels.by_name) sorted.emplace_back(sum.ms, name);
  std::ranges::sort(sorted, std::ranges::greater{});
  fmt::print("#  kernels {:.2f} ms, between them {:.2f} ms\n", kernels.busy_ms, kernels.between_ms);
  for (const auto& [time, name] : sorted) {
    if (time < kLeastShare * kernels.busy_ms) break;
    fmt::print("#  {:7.3f} ms {:5} x  {}\n", time, kernels.by_name.at(name).calls / kProfiled,
               name.substr(0, 120));
  }
}

// By events, without the first steps.
StepTimes measure(PartTraining& training, RoleDevice& device, std::vector<DeviceBatch>& batches,
                  const Options& options) {
  std::vector<Event> marks;
  std::vector<Event> passed;
  for (std::int64_t step = 0; step <= options.steps + kWarmUps; ++step) {
    const auto which = static_cast<std::size_t>(step) % batches.size();
    passed.push_back(device.make_event());
    train_step(training, batches[which], options.training.step.batches_a_step, &passed.back());
    marks.push_back(device.make_event());
    marks.back().record(device.stream());
    if (marks.size() > 3) marks[marks.size() - 3].wait();
  }
  marks.back().wait();
  StepTimes times;
  for (std::size_t i = kWarmUps + 1; i < marks.size(); ++i) {
    times.whole.push_back(marks[i].milliseconds_since(marks[i - 1]));
    times.update.push_back(marks[i].milliseconds_since(passed[i]));
  }
  return times;
}

std::string ranks_of(const Options& options) {
  if (!options.ranks) return "off";
  return *options.ranks == Wire::Fp32 ? "fp32" : "bf16";
}

void bench(const Options& options, const GptConfig& config, const NamedTensors& weights,
           std::int64_t clips) {
  const auto device = open_role_device(Role::Model, plan_for(options));
  GptTrainingSettings settings = options.training;
  settings.slots = clips;
  settings.sizes = {sizes_for(config, clips, options.spread)};
  std::optional<PlainExpressions> plain;
  if (options.libtorch_attention) {
    plain.emplace(std::vector{Operation::RowAttention});
  }
  if (options.plain) plain.emplace();
  std::vector<DeviceBatch> batches;
  {
    const auto scope = device->enter(device->stream());
    for (std::uint64_t seed = 1; seed <= options.different; ++seed) {
      batches.push_back(test::random_batch(config, *device,
                                           {.clips = clips,
                                            .shortest_text = kText / (options.spread ? 2 : 1),
                                            .longest_text = kText,
                                            .fewest_codes = kCodes / (options.spread ? 2 : 1),
                                            .most_codes = kCodes,
                                            .prompt_frames = kFrames,
                                            .sizes = settings.sizes[0]},
                                           seed));
      batches.back().rows.text_count.mul_(static_cast<double>(settings.step.batches_a_step));
      batches.back().rows.audio_count.mul_(static_cast<double>(settings.step.batches_a_step));
    }
  }
  std::optional<RankTeam> team;
  if (options.ranks) {
    team.emplace(World{.port = free_port()});
    settings.team = &*team;
    settings.wire = *options.ranks;
  }
  const auto training = make_gpt_training(config, weights, *device, settings);
  const auto times = measure(*training, *device, batches, options);
  const auto numbers = training->finish_numbers();
  const double step_ms = median(times.whole);
  fmt::print(
      "{{\"size\": \"{}\", \"batch\": {}, \"step_ms\": {:.3f}, \"fastest_ms\": {:.3f}, "
      "\"slowest_ms\": {:.3f}, "
      "\"update_ms\": {:.3f}, \"memory_gb\": {:.3f}, \"tokens\": {}, \"loss\": {:.5f}, "
      "\"skipped\": {}, \"ranks\": \"{}\"}}\n",
      options.size, clips, step_ms, std::ranges::min(times.whole), std::ranges::max(times.whole),
      median(times.update), static_cast<double>(device->memory().read().peak) / 1e9,
      settings.sizes[0].tokens, numbers.back().loss,
      std::ranges::count_if(numbers, &StepNumbers::skipped), ranks_of(options));
  if (options.losses) {
    std::vector<double> losses;
    for (const auto& step : numbers) losses.push_back(step.loss);
    fmt::print("# losses {:.5f}\n", fmt::join(losses, " "));
  }
  std::fflush(stdout);
  if (options.profile) print_kernels(profile(*training, batches[0], options));
  std::fflush(stdout);
}

}  // namespace
}  // namespace myxtts

int main(int argc, char** argv) {
  using namespace myxtts;
  try {
    const Options options = parse({argv + 1, argv + argc});
    require_cuda();
    const auto config = model_preset(options.size).gpt;
    const auto weights = random_weights(config);
    for (const auto clips : options.batches) {
      try {
        bench(options, config, weights, clips);
      } catch (const DeviceError& error) {
        fmt::print(stderr, "batch {}: {}\n", clips, error.what());
      }
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "train_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
