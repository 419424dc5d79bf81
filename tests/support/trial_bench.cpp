// SPDX-License-Identifier: Apache-2.0
#include "support/trial_bench.h"

#include <algorithm>

#include "base/error.h"
#include "config/field.h"
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
  const auto is = [](const std::string& key) {
    return [key](const auto& setting) { return setting.first == key; };
  };
  for (const auto& setting : more) {
    std::erase_if(all, is(setting.first));
    all.push_back(setting);
  }
  // A budget of tokens takes the place of a number of clips.
  if (std::ranges::any_of(all, is("train.batch_tokens")))
    std::erase_if(all, is("train.batch_size"));
  const EffectiveConfig config = config_of(all);
  const DevicePlan plan = opened_plan(config);
  return make_profile(profile_setup(config, plan), run_trial(config, plan, trial));
}

Healthy healthy_of(const Profile& profile) {
  const StepModel model = model_of(profile);
  const TrialReading& reading = profile.reading;
  return {.step_seconds = profile.steps.mean,
          .clips = model.clips,
          .workers = model.workers,
          .tokens = static_cast<double>(reading.useful_tokens) /
                    static_cast<double>(std::max<std::int64_t>(1, reading.batches))};
}

}  // namespace myxtts::test
