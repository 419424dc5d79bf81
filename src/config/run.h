// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace myxtts {

// Where a run keeps its files, and where it continues.
struct RunDirectoryConfig {
  std::filesystem::path checkpoint_dir = "run";  // the run directory
  // "latest", the number of a step, or the path of a checkpoint; nothing: a new run.
  std::optional<std::string> resume = {};

  friend bool operator==(const RunDirectoryConfig&, const RunDirectoryConfig&) = default;
};

}  // namespace myxtts
