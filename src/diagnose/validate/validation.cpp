// SPDX-License-Identifier: Apache-2.0
#include "diagnose/validate/validation.h"

#include <map>
#include <memory>
#include <optional>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include "base/error.h"
#include "model/gpt.h"
#include "model/gpt_specs.h"
#include "model/named_tensors.h"
#include "train/gpt/gpt_training.h"

namespace myxtts {
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
