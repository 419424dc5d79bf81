// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/field.h"
#include "config/run_config.h"

namespace myxtts {

// Where a value came from, as `myxtts config` shows it.
struct Origin {
  enum class Kind { Default, Preset, File, Flag };
  Kind kind = Kind::Default;
  std::string name = {};  // of the preset, the file or the flag
  int line = 0;           // of the file, from 1
};

// "default", "preset two-gpu", "run.yaml:3" or "flag --seed".
std::string describe(const Origin& origin);

// One value that somebody wrote.
struct Setting {
  const Field* field;
  Scalar value;
  Origin origin;
  bool is_first = true;                 // of a list: what weaker sources said is forgotten
  std::optional<ModelPart> stage = {};  // for this stage alone; nothing: for all
};

// What a preset sets. Throws ConfigError for an unknown name.
std::vector<Setting> read_preset(const std::string& name);
std::vector<std::string> preset_names();

// What a YAML file sets, in its order. Throws ConfigError, naming the file and the line, for
// anything but one map of known keys; keys that are no longer needed cost a line in the log.
std::vector<Setting> read_config_file(const std::filesystem::path& path);

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
  // What the section stages of a file says, in its order; flags win over it, so that what a flag
  // set is not among them.
  std::vector<Setting> stage_settings = {};

  const Origin& origin_of(std::string_view key) const;
};

// Sets one value and remembers where it came from. Throws ConfigError when it is not allowed.
void apply_setting(const Setting& setting, EffectiveConfig& config);

// Presets, then the file, then flags; where one stage is trained, what the file says of that stage
// alone is part of it. Throws ConfigError when a value is not allowed or two values
// contradict each other.
EffectiveConfig make_effective_config(const ConfigSources& sources);

// Throws ConfigError when settings that are fine alone cannot be meant together.
void check_consistency(const EffectiveConfig& config);

// The same of settings that concern several stages.
void check_chain(const EffectiveConfig& config);

// Sentences about settings of a training run that are allowed and seldom meant.
std::vector<std::string> cautions(const EffectiveConfig& config);

// YAML with the origin of each value behind it. read_config_file() gives the same settings back.
std::string print_config(const EffectiveConfig& config);

// YAML with every default, and above each setting its sentence, what is allowed and its flag.
std::string print_reference();

// The same as Markdown tables, one for each section: the body of docs/reference/configuration.md.
std::string print_markdown();

// YAML with those settings alone that are not the default. read_config_file() gives them back.
std::string print_differences(const RunConfig& config);

}  // namespace myxtts
