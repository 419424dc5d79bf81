// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "config/setting.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

struct Preset {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;  // key, value
};

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
  for (const Preset& preset : all_presets()) names.push_back(preset.name);
  return names;
}

std::vector<Setting> read_preset(const std::string& name) {
  for (const Preset& preset : all_presets()) {
    if (preset.name != name) continue;
    std::vector<Setting> settings;
    for (const auto& [key, value] : preset.values) {
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

}  // namespace myxtts
