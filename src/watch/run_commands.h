// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace myxtts {

// RUN/latest, as far as it can be told.
struct LatestModel {
  bool is_there = false;
  std::vector<std::string> untrained = {};  // of the parts that a model speaks with
  bool can_be_exported = false;             // coqui-tts can hold it
};

// Changes nothing; a folder that cannot be read is not there.
LatestModel inspect_latest(const std::filesystem::path& run);

// A clip to hear a model by.
struct ExampleClip {
  std::string audio = {};
  std::string text = {};
  std::string language = {};
};

// {"commands": {...}, "commands_missing": {...}, "model": {...}}: what to type to hear, resume,
// export and report the run, or why that cannot be done.
nlohmann::json commands_json(const std::filesystem::path& run, const LatestModel& latest,
                             const ExampleClip& clip);

}  // namespace myxtts
