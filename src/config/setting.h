// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/field.h"

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
  bool is_first = true;             // of a list: what weaker sources said is forgotten
  std::optional<Stage> stage = {};  // for this stage alone; nothing: for all
};

// What a preset sets. Throws ConfigError for an unknown name.
std::vector<Setting> read_preset(const std::string& name);
std::vector<std::string> preset_names();

// What a YAML file sets, in its order. Throws ConfigError, naming the file and the line, for
// anything but one map of known keys; keys that are no longer needed cost a line in the log.
std::vector<Setting> read_config_file(const std::filesystem::path& path);

}  // namespace myxtts
