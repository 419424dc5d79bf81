// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace myxtts {

// A line of config.yaml.
struct KeptSetting {
  std::string key;     // "train.batch_size"
  std::string value;   // as it stands there
  std::string origin;  // "flag --batch-size 8"; empty: it says none
};

// The settings in a config.yaml of a run, whatever version wrote it; lines that are none are passed
// over.
std::vector<KeptSetting> parse_kept_settings(std::string_view yaml);

nlohmann::json json_of(const std::vector<KeptSetting>& settings);

// {"differences": [...], "same": N} of two and more runs.
nlohmann::json differences_of(const std::vector<std::vector<KeptSetting>>& runs);

}  // namespace myxtts
