// SPDX-License-Identifier: Apache-2.0
#include "config/effective_config.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "base/message_text.h"
#include "config/part_settings.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

// By name: the values by their keys, in the order in which they are set.
using Preset = std::pair<std::string, std::vector<std::pair<std::string, std::string>>>;

const std::vector<Preset>& all_presets() {
  static const std::vector<Preset> presets = {
      {"tiny-cpu",
       {{"devices.device", "cpu"},
        {"train.model_size", "tiny"},
        {"train.batch_size", "2"},
        {"train.max_steps", "100"}}},
      {"one-gpu", {{"devices.device", "cuda"}, {"devices.mode", "single"}}},
      {"two-gpu",
       {{"devices.device", "cuda"},
        {"devices.mode", "dual"},
        {"data.data_gpu", "0"},
        {"data.model_gpu", "1"}}},
  };
  return presets;
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const auto& [name, values] : all_presets()) names.push_back(name);
  return names;
}

std::vector<Setting> read_preset(const std::string& name) {
  for (const auto& [known, values] : all_presets()) {
    if (known != name) continue;
    std::vector<Setting> settings;
    for (const auto& [key, value] : values) {
      const Field* field = find_field(key);
      MYXTTS_CHECK(field != nullptr, "the preset {} sets the unknown key {}", name, key);
      settings.push_back({field, {value, false}, {Origin::Kind::Preset, name, 0}});
    }
    return settings;
  }
  const std::vector<std::string> names = preset_names();
  const auto near = nearest_name(name, names);
  throw ConfigError(fmt::format("There is no preset {}{}; --preset takes {}.", quote(name),
                                near ? fmt::format(" (did you mean {}?)", *near) : "",
                                listed(names)));
}

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
  for (const ModelPart stage : *config.values.train.stages) {
    check_consistency(settings_of_part(config, stage));
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
  for (const ModelPart stage : kModelParts) settings_of_part(config, stage);
  if (!config.values.train.stages) config = settings_of_part(config, config.values.train.stage);
  check_stages(config);
  return config;
}

}  // namespace myxtts
