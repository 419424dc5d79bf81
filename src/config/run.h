// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace myxtts {

// Where a run keeps its files, and where it continues.
struct RunDirectoryConfig {
  std::filesystem::path checkpoint_dir = "run";  // the run directory
  // "latest", the number of a step, or the path of a checkpoint; nothing: a new run.
  std::optional<std::string> resume = {};

  std::optional<std::int64_t> save_steps = 1000;
  std::optional<double> save_minutes = 30.0;
  std::int64_t keep_last = 3;
  std::int64_t keep_best = 1;  // by validation loss

  std::optional<std::int64_t> eval_steps = {};  // nothing: at the end of each epoch
  std::optional<std::int64_t> early_stopping = {};
  std::int64_t log_steps = 10;
  bool histograms = false;
  std::int64_t samples = 3;  // of each measurement
  std::optional<std::filesystem::path> test_sentences = {};
  std::optional<std::filesystem::path> trace = {};

  friend bool operator==(const RunDirectoryConfig&, const RunDirectoryConfig&) = default;
};

}  // namespace myxtts
