// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "watch/watched_run.h"

namespace myxtts {

// The runs below some folders, as they come and go. Any thread.
class RunShelf {
 public:
  RunShelf(std::vector<std::filesystem::path> folders, std::string version)
      : folders_(std::move(folders)), version_(std::move(version)) {}

  // The run of that name. Throws RequestError (404).
  std::shared_ptr<WatchedRun> get(const std::string& id);

  nlohmann::json overview();  // the answer of /api/runs

 private:
  std::vector<std::shared_ptr<WatchedRun>> all();

  const std::vector<std::filesystem::path> folders_;
  const std::string version_;

  std::mutex mutex_;
  // Everything below is guarded by mutex_.
  std::map<std::string, std::shared_ptr<WatchedRun>> runs_;
  std::chrono::steady_clock::time_point search_again_{};
};

}  // namespace myxtts
