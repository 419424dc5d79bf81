// SPDX-License-Identifier: Apache-2.0
#include "diagnose/validate/validation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "device/plan/gpu_choice.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/named_tensors.h"
#include "train/gpt/gpt_training.h"

namespace myxtts {
namespace {

constexpr double kReady = 0.9;         // share of steps
constexpr double kBusyEnough = 0.7;    // of the time: a device that cannot do more
constexpr double kLeastOverlap = 0.3;  // in series there is none
constexpr double kWorthwhile = 0.05;   // the shorter part against the longer: less cannot be judged
constexpr double kIdle = 1.5;          // the whole against the sum: in series there is little more
constexpr const char* kProfile = "Type: myxtts profile, which names the stage and the setting";

// Seconds that the data device and the model device were at work, by their own clocks.
double feature_seconds(const TrialReading& trial) {
  return trial.pipeline.data_device.busy_seconds;
}

double model_seconds(const TrialReading& trial) {
  return trial.pipeline.model_device.busy_seconds;
}

// How much of what could be done at the same time was: 1 where the whole took as long as the longer
// of features and steps, 0 where it took their sum.
double overlap(const TrialReading& trial) {
  const double shorter = std::min(feature_seconds(trial), model_seconds(trial));
  if (shorter <= 0) return 0;
  return (feature_seconds(trial) + model_seconds(trial) - trial.wall_seconds) / shorter;
}

Check check_batches(const TrialReading& trial) {
  const std::string found =
      fmt::format("{}, {} in {:.1f} s", counted(trial.batches, "batch", "batches"),
                  counted(trial.clips, "clip"), trial.wall_seconds);
  if (trial.batches < kPipelineSteps || trial.clips == 0) {
    return failed("pipeline.batches", "batches",
                  fmt::format("{}, but {} batches were asked for", found, kPipelineSteps),
                  "Report it with: myxtts doctor --bundle FILE");
  }
  return passed("pipeline.batches", "batches", found);
}

// Waiting is no fault where the data device did all it could: then it is the slower one.
Check check_readiness(const TrialReading& trial) {
  const double share = trial.pipeline.readiness.share();
  const double busy = feature_seconds(trial) / std::max(trial.wall_seconds, 1e-9);
  const std::string found =
      fmt::format("{:.0f} % of {} steps had their batch ready, {:.2f} s waited", 100 * share,
                  trial.pipeline.readiness.steps, trial.pipeline.readiness.waited_seconds);
  if (share >= kReady) return passed("pipeline.readiness", "readiness", found);
  if (busy >= kBusyEnough) {
    Check result = passed("pipeline.readiness", "readiness",
                          fmt::format("{}: making features takes longer than this model's "
                                      "steps",
                                      found));
    result.remedy = kProfile;
    return result;
  }
  return failed("pipeline.readiness", "readiness",
                fmt::format("{}, though the data device was busy {:.0f} % of the time only", found,
                            100 * busy),
                kProfile);
}

Check check_overlap(const TrialReading& trial) {
  const std::string id = "pipeline.overlap";
  const std::string name = "overlap";
  const std::string found =
      fmt::format("{:.2f} s for features of {:.2f} s and steps of {:.2f} s", trial.wall_seconds,
                  feature_seconds(trial), model_seconds(trial));
  const auto [shorter, longer] = std::minmax({feature_seconds(trial), model_seconds(trial)});
  if (shorter < kWorthwhile * longer) {
    return skipped(id, name, found + ": too unequal to tell", kProfile);
  }
  if (overlap(trial) >= kLeastOverlap) {
    return passed(id, name,
                  fmt::format("{}: {:.0f} % of the shorter at the same time", found,
                              100 * std::min(1.0, overlap(trial))));
  }
  const double starved =
      seconds_in(trial.pipeline.stage("features").load.waiting_for_input);  // of the feature stage
  const double sum = feature_seconds(trial) + model_seconds(trial);
  if (starved > trial.wall_seconds / 2 || trial.wall_seconds > kIdle * sum) {
    return skipped(id, name, found + ": both devices waited too long to tell", kProfile);
  }
  return failed(id, name, found + ": one after the other",
                "Give each role threads of its own (--data-threads, --model-threads) or another "
                "device; type: myxtts profile");
}

}  // namespace

Checks check_pipeline(const TrialReading& trial) {
  Check readiness = check_readiness(trial);
  const Check in_parallel = check_overlap(trial);
  if (in_parallel.verdict == Verdict::Fail && readiness.verdict == Verdict::Fail) {
    readiness = skipped(readiness.id, readiness.name, readiness.found + ": see overlap");
  }
  return {check_batches(trial), readiness, in_parallel};
}

namespace {

constexpr const char* kRestart =
    "Start the program anew, without setting CUDA_VISIBLE_DEVICES after its start; if it stays so, "
    "report it with: myxtts doctor --bundle FILE";

std::vector<std::string> planned_places(const DevicePlan& plan) {
  std::vector<std::string> places;
  for (const RolePlan* role : {&plan.data, &plan.model}) {
    const std::string place = short_bus_id(role->gpu->pci_bus_id);
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  return places;
}

std::string place_of(const RolePlan& plan) {
  return plan.gpu ? fmt::format("{}, cuda:{} to LibTorch", label(*plan.gpu), plan.gpu->logical)
                  : "the CPU, " + counted(plan.threads, "thread");
}

}  // namespace

Check check_visible(const DevicePlan& plan, const std::string& variable,
                    const std::vector<std::string>& shown, bool cuda_is_open) {
  const std::string id = "placement.visible";
  const std::string name = "visible devices";
  const std::string planned = fmt::format("{}", fmt::join(plan.visible_uuids(), ","));
  if (variable != planned) {
    return failed(
        id, name,
        fmt::format("CUDA_VISIBLE_DEVICES is \"{}\", but the plan is \"{}\"", variable, planned),
        kRestart);
  }
  if (!plan.model.gpu) {
    if (!cuda_is_open) return passed(id, name, "CUDA is not opened, and sees no GPU");
    return failed(id, name, "CUDA was opened for a run on the CPU", kRestart);
  }
  std::vector<std::string> places;
  for (const std::string& place : shown) places.push_back(short_bus_id(place));
  if (places != planned_places(plan)) {
    return failed(id, name,
                  fmt::format("CUDA shows the cards at {}, but those at {} were chosen",
                              fmt::join(places, ", "), fmt::join(planned_places(plan), ", ")),
                  kRestart);
  }
  return passed(id, name, fmt::format("CUDA sees {} and no other", fmt::join(places, ", ")));
}

Check check_device(Role role, const RolePlan& plan, const RoleDevice& opened) {
  const std::string id = fmt::format("placement.{}_device", name_of(role));
  const std::string name = fmt::format("{} device", name_of(role));
  const int planned = plan.gpu ? plan.gpu->logical : -1;
  if (opened.gpu() != planned) {
    return failed(id, name,
                  fmt::format("the plan is {}, but {} was opened", place_of(plan), opened.name()),
                  "Report it with: myxtts doctor --bundle FILE");
  }
  return passed(id, name, place_of(plan));
}

Check check_cap(Role role, std::int64_t cap, bool planned, const TryTake& try_take) {
  constexpr std::int64_t kSome = 16 * kMegabyte;
  const std::string id = fmt::format("placement.{}_cap", name_of(role));
  const std::string name = fmt::format("{} memory cap", name_of(role));
  const std::string flag = role == Role::Data ? "--data-gpu-memory" : "--model-gpu-memory";
  const std::int64_t less = std::min(cap / 2, kSome);
  if (!try_take(less)) {
    return failed(id, name,
                  fmt::format("{} were refused under a cap of {}", megabytes(less), megabytes(cap)),
                  fmt::format("End what else runs on the device, or raise {}", flag));
  }
  if (try_take(cap + 1)) {
    return failed(id, name, fmt::format("more than its cap of {} was given out", megabytes(cap)),
                  "Caps are not kept here: do not share the device; report it with: myxtts doctor "
                  "--bundle FILE");
  }
  return passed(id, name,
                planned ? fmt::format("{}: more is refused, less is not", megabytes(cap))
                        : fmt::format("none is set; one of {} was tried and kept", megabytes(cap)));
}

Check check_split(const DevicePlan& plan, const std::vector<int>& used) {
  const std::string id = "placement.split";
  const std::string name = "multiprocessors";
  if (plan.mode != Mode::Split) return skipped(id, name, "no GPU is split (--split-gpu)");
  const auto given = static_cast<std::size_t>(plan.data.multiprocessors.value_or(0));
  // A driver rounds up to what a card can be divided by, at most by a group of eight.
  if (used.empty() || used.size() >= given + 8) {
    return failed(id, name,
                  fmt::format("data work ran on {} multiprocessors, not on the {} it was given",
                              used.size(), given),
                  fmt::format("Type --mode single, or another part, as in --split-gpu {}:{}",
                              plan.data.gpu->listed, given + 8));
  }
  return passed(id, name, fmt::format("data work ran on {} of the card's", used.size()));
}

bool can_take(RoleDevice& device, std::int64_t bytes) {
  const auto scope = device.enter(device.stream());
  const auto on = device.gpu() < 0
                      ? c10::Device(c10::kCPU)
                      : c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device.gpu()));
  try {
    return at::empty({bytes}, at::TensorOptions(on).dtype(at::kByte)).defined();
  } catch (const c10::OutOfMemoryError&) {
    return false;
  } catch (const DeviceError&) {
    return false;
  }
}

namespace {

bool is_of_gpus(const Check& check) {
  return check.id == "driver" || check.id == "cuda_plugin" || check.id == "gpus";
}

// Doctor's row of a card that the plan takes, under the plan's number for it; nothing: of a card
// that stays untouched.
std::optional<Check> planned_gpu(Check check, const DevicePlan& plan) {
  for (const RolePlan& role : {plan.data, plan.model}) {
    if (!role.gpu || check.id != fmt::format("gpu{}", role.gpu->physical)) continue;
    check.name = fmt::format("GPU {}", role.gpu->listed);
    return check;
  }
  return std::nullopt;
}

Check judged(const Check& check) {
  const std::string id = "prerequisites." + check.id;
  if (check.verdict == Verdict::Fail) {
    return failed(id, check.name, check.found.empty() ? "missing" : check.found, check.remedy);
  }
  Check result = passed(id, check.name, check.found);
  if (check.verdict == Verdict::Warn) result.remedy = check.remedy;
  return result;
}

// The rows of doctor's checklist that a run depends on: everything that the CPU needs and, where
// the plan has a GPU, driver, plugin and the planned cards; those are skipped otherwise. What a
// language alone needs is left to doctor.
Checks check_prerequisites(const Checks& checklist, const DevicePlan& plan) {
  Checks results;
  const bool with_gpu = plan.model.gpu.has_value();
  for (const Check& check : checklist) {
    if (check.cpu_run_needs_it || (with_gpu && is_of_gpus(check))) results.push_back(judged(check));
    if (const auto gpu = planned_gpu(check, plan)) results.push_back(judged(*gpu));
  }
  if (!with_gpu) {
    results.push_back(skipped("prerequisites.gpus", "driver, plugin, GPUs",
                              "both roles are on the CPU; myxtts doctor tells of GPUs"));
  }
  return results;
}

constexpr std::int64_t kClips = 2;
constexpr const char* kReport = "Report it with: myxtts doctor --bundle FILE";

using Devices = std::map<Role, std::unique_ptr<RoleDevice>>;

// On a device of its own, so that nothing else is in its memory.
Check try_cap(const ValidationParts& parts, Role role, RolePlan plan) {
  const bool planned = plan.memory_cap_bytes.has_value();
  const std::int64_t cap = plan.memory_cap_bytes.value_or(kTrialCap);
  plan.memory_cap_bytes = cap;
  plan.multiprocessors.reset();
  const auto device = parts.open(role, plan);
  return check_cap(role, cap, planned,
                   [&device](std::int64_t bytes) { return can_take(*device, bytes); });
}

Checks check_placement(const ValidationParts& parts, Devices& devices) {
  const DevicePlan& plan = parts.plan;
  Checks results = {check_visible(plan, parts.visible_devices, parts.shown, parts.cuda_is_open)};
  devices[Role::Data] = parts.open(Role::Data, plan.data);
  devices[Role::Model] = parts.open(Role::Model, plan.model);
  results.push_back(check_device(Role::Data, plan.data, *devices.at(Role::Data)));
  results.push_back(check_device(Role::Model, plan.model, *devices.at(Role::Model)));
  results.push_back(try_cap(parts, Role::Data, plan.data));
  results.push_back(try_cap(parts, Role::Model, plan.model));
  const bool is_split = plan.mode == Mode::Split;
  results.push_back(check_split(
      plan, is_split ? parts.multiprocessors(*devices.at(Role::Data)) : std::vector<int>{}));
  return results;
}

NamedTensors new_weights(const GptConfig& gpt) {
  NamedTensors weights;
  for (const auto& [name, weight] : initialise(gpt_specs(gpt), /*seed=*/1)) {
    weights.emplace(kGptPrefix + name, weight);
  }
  return weights;
}

// An error of LibTorch in `checks` becomes one of the device.
Checks on_device(const RoleDevice& device, const std::function<Checks()>& checks) {
  try {
    return checks();
  } catch (const c10::Error&) {
    device.rethrow();
  }
  throw InternalError("the device threw nothing");
}

// Without graphs, whose tensors are made once and for all: here each is made while it is watched.
Checks try_model(const ValidationParts& parts, RoleDevice& device) {
  return on_device(device, [&] {
    const auto training = make_gpt_training(parts.model.gpt, new_weights(parts.model.gpt), device,
                                            {.step = {.precision = parts.plan.precision}});
    DeviceBatch batch = made_up_batch(parts.model.gpt, device, kClips);
    ModelTrial trial(*training, batch);
    if (parts.before_model) parts.before_model(trial);
    return check_model(trial);
  });
}

Checks try_transfer(const ValidationParts& parts, const Devices& devices) {
  RoleDevice& model = *devices.at(Role::Model);
  return on_device(model, [&] {
    return check_transfer(*devices.at(Role::Data), model, parts.plan.path, parts.largest_send);
  });
}

}  // namespace

std::vector<ValidationStep> validation_steps(const ValidationParts& parts) {
  const auto devices = std::make_shared<Devices>();
  return {
      {.id = "prerequisites",
       .name = "Prerequisites",
       .remedy = kReport,
       .checks = [parts] { return check_prerequisites(parts.checklist, parts.plan); }},
      {.id = "placement",
       .name = "Placement",
       .remedy = "Type: myxtts doctor",
       .checks = [parts, devices] { return check_placement(parts, *devices); }},
      {.id = "model",
       .name = "Model on the model device",
       .remedy = "Take a smaller --model-size, or another device",
       .checks = [parts, devices] { return try_model(parts, *devices->at(Role::Model)); }},
      {.id = "transfer",
       .name = "Transfer between the devices",
       .remedy = "Try the other --transfer-path",
       .checks = [parts, devices] { return try_transfer(parts, *devices); }},
      {.id = "pipeline",
       .name = "Pipeline",
       .remedy = kReport,
       .checks = [parts] { return check_pipeline(parts.pipeline()); }},
  };
}

}  // namespace myxtts
