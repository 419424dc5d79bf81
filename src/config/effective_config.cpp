// SPDX-License-Identifier: Apache-2.0
#include "config/effective_config.h"

#include "base/error.h"
#include "base/nearest.h"
#include "config/stage_settings.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

// "run.yaml:3: data.num_workers", "--num-workers".
std::string subject(const Setting& setting) {
  switch (setting.origin.kind) {
    case Origin::Kind::File:
      return fmt::format("{}: {}", describe(setting.origin),
                         setting.stage ? fmt::format("{} of the stage {}", setting.field->key,
                                                     name_of(*setting.stage))
                                       : setting.field->key);
    case Origin::Kind::Flag:
      return setting.origin.name;
    case Origin::Kind::Preset:
    case Origin::Kind::Default:
      break;
  }
  return fmt::format("{} of the {}", setting.field->key, describe(setting.origin));
}

// A flag was given for all stages.
void drop_what_flags_set(EffectiveConfig& config) {
  std::erase_if(config.stage_settings, [&config](const Setting& setting) {
    return config.origin_of(setting.field->key).kind == Origin::Kind::Flag;
  });
}

// Each stage's settings must be fine together, also those of a stage that comes later.
void check_stages(const EffectiveConfig& config) {
  if (!config.values.train.stages) return check_consistency(config);
  for (const Stage stage : *config.values.train.stages) {
    check_consistency(settings_of_stage(config, stage));
  }
  check_chain(config);
}

}  // namespace

void apply_setting(const Setting& setting, EffectiveConfig& config) {
  const Field& field = *setting.field;
  if (!field.assign(setting.value, config.values)) {
    const auto near = nearest_name(setting.value.text, field.choices);
    throw ConfigError(fmt::format("{} takes {}, but was given {}{}", subject(setting),
                                  field.allowed, quote(setting.value.text),
                                  near ? fmt::format("; did you mean {}?", *near) : "."));
  }
  config.origins[static_cast<std::size_t>(&field - all_fields().data())] = setting.origin;
}

std::string describe(const Origin& origin) {
  switch (origin.kind) {
    case Origin::Kind::Default:
      return "default";
    case Origin::Kind::Preset:
      return fmt::format("preset {}", origin.name);
    case Origin::Kind::File:
      return fmt::format("{}:{}", origin.name, origin.line);
    case Origin::Kind::Flag:
      return fmt::format("flag {}", origin.name);
  }
  return {};
}

const Origin& EffectiveConfig::origin_of(std::string_view key) const {
  const Field* field = find_field(key);
  MYXTTS_CHECK(field != nullptr, "there is no setting {}", key);
  return origins[static_cast<std::size_t>(field - all_fields().data())];
}

EffectiveConfig make_effective_config(const ConfigSources& sources) {
  EffectiveConfig config{.values = {}, .origins = std::vector<Origin>(all_fields().size())};
  const auto apply_all = [&config](const std::vector<Setting>& settings) {
    for (const Setting& setting : settings) {
      if (setting.stage) {
        config.stage_settings.push_back(setting);
        continue;
      }
      if (setting.is_first && setting.field->is_list()) setting.field->clear(config.values);
      apply_setting(setting, config);
    }
  };
  if (sources.preset) apply_all(read_preset(*sources.preset));
  if (sources.file) apply_all(read_config_file(*sources.file));
  apply_all(sources.flags);
  drop_what_flags_set(config);
  // A value that is not allowed is an error also where its stage is not trained now.
  for (const Stage stage : kStages) settings_of_stage(config, stage);
  if (!config.values.train.stages) config = settings_of_stage(config, config.values.train.stage);
  check_stages(config);
  return config;
}

}  // namespace myxtts
