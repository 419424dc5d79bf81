// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "config/setting.h"

namespace myxtts {

// What a person asked for, from the weakest to the strongest.
struct ConfigSources {
  std::optional<std::string> preset = {};
  std::optional<std::filesystem::path> file = {};
  std::vector<Setting> flags = {};
};

// The settings of a run, each with where it came from.
struct EffectiveConfig {
  RunConfig values;
  std::vector<Origin> origins;  // in the order of all_fields()

  const Origin& origin_of(std::string_view key) const;
};

// Presets, then the file, then flags. Throws ConfigError when a value is not allowed or two values
// contradict each other.
EffectiveConfig make_effective_config(const ConfigSources& sources);

// Throws ConfigError when settings that are fine alone cannot be meant together.
void check_consistency(const EffectiveConfig& config);

// Sentences about settings of a training run that are allowed and seldom meant.
std::vector<std::string> cautions(const EffectiveConfig& config);

// YAML with the origin of each value behind it. read_config_file() gives the same settings back.
std::string print_config(const EffectiveConfig& config);

// YAML with every default, and above each setting its sentence, what is allowed and its flag.
std::string print_reference();

// The same as Markdown tables, one for each section: the body of docs/configuration.md.
std::string print_markdown();

}  // namespace myxtts
