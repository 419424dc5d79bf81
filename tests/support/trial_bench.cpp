// SPDX-License-Identifier: Apache-2.0
#include "support/trial_bench.h"

#include "base/error.h"
#include "config/field.h"
#include "device/system_probe.h"
#include "diagnose/profile/step_model.h"
#include "session/plan_run.h"

namespace myxtts::test {
namespace {

EffectiveConfig config_of(const Settings& settings) {
  ConfigSources sources;
  for (const auto& [key, value] : settings) {
    const Field* field = find_field(key);
    MYXTTS_CHECK(field != nullptr, "there is no setting {}", key);
    sources.flags.push_back({field, {value, false}, {Origin::Kind::Flag, field->flag, 0}});
  }
  return make_effective_config(sources);
}

// Devices are opened once in a process; later plans are for the same ones.
DevicePlan opened_plan(const EffectiveConfig& config) {
  const ModelConfig sizes = sizes_to_train(config.values.train);
  static const DevicePlan kOpened = plan_and_open_devices(config.values, sizes);
  DevicePlan plan = plan_run(config.values, sizes);
  plan.data = kOpened.data;
  plan.model = kOpened.model;
  return plan;
}

}  // namespace

Profile TrialBench::run(const TrialSettings& trial, const Settings& more) const {
  Settings all = settings_;
  all.insert(all.end(), more.begin(), more.end());
  const EffectiveConfig config = config_of(all);
  const DevicePlan plan = opened_plan(config);
  SystemProbe probe;
  const ProfileSetup setup{
      .plan = plan,
      .model_size = config.values.train.model_size,
      .static_shapes = config.values.train.enable_static_shapes && plan.model.gpu.has_value(),
      .cache_dataset = config.values.data.cache_dataset,
      .host_path_was_asked = config.values.devices.transfer_path == TransferPath::Host,
      .cores = probe.cpu().usable_cores(),
      .warm_up = trial.warm_up};
  return make_profile(setup, run_trial(config, plan, trial));
}

Healthy healthy_of(const Profile& profile) {
  const StepModel model = model_of(profile);
  return {.step_seconds = profile.steps.mean, .clips = model.clips, .workers = model.workers};
}

}  // namespace myxtts::test
