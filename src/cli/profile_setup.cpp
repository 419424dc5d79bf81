// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_setup.h"

#include "base/error.h"
#include "config/field.h"
#include "device/system_probe.h"

namespace myxtts {

void check_can_be_profiled(const RunConfig& config) {
  if (config.train.stage != Stage::Gpt) {
    throw ConfigError("profile measures the stage gpt; leave --stage out.");
  }
}

ProfileSetup profile_setup(const EffectiveConfig& settings, const DevicePlan& plan) {
  const RunConfig& config = settings.values;
  SystemProbe probe;
  return {.plan = plan,
          .model_size = config.train.init ? config.train.init->string() : config.train.model_size,
          .static_shapes = config.train.enable_static_shapes && plan.model.gpu.has_value(),
          .cache_dataset = config.data.cache_dataset,
          .host_path_was_asked = config.devices.transfer_path == TransferPath::Host,
          .cores = probe.cpu().usable_cores()};
}

EffectiveConfig with_knobs(EffectiveConfig settings, const Profile& profile) {
  const auto fields = all_fields();
  for (const Finding& finding : profile.findings) {
    if (!finding.knob) continue;
    const Field* field = find_field(finding.knob->key);
    MYXTTS_CHECK(field != nullptr && field->assign({.text = finding.knob->value}, settings.values),
                 "{} cannot be {}", finding.knob->key, finding.knob->value);
    settings.origins.at(static_cast<std::size_t>(field - fields.data())) = {
        .kind = Origin::Kind::Flag, .name = "--apply of profile"};
    if (finding.knob->key == "train.batch_tokens") settings.values.train.batch_size.reset();
  }
  check_consistency(settings);
  return settings;
}

}  // namespace myxtts
