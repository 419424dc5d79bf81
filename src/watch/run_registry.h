// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <httplib.h>

#include <nlohmann/json.hpp>

#include "watch/watched_run.h"

namespace myxtts {

// The runs below some folders, as they come and go. Any thread.
class RunRegistry {
 public:
  RunRegistry(std::vector<std::filesystem::path> folders, std::string version)
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

// Server-sent events: what changes of the overview or of one run, looked at once a second, until
// the client leaves or `is_draining` says so. A connection's thread waits in it.
class EventStream {
 public:
  // `run` null: the overview. Everything outlives it.
  EventStream(RunRegistry& registry, std::shared_ptr<WatchedRun> run,
              std::function<bool()> is_draining);

  // The next messages. False: the connection is given up.
  bool send_next(httplib::DataSink& sink);

 private:
  bool wait_a_second(const httplib::DataSink& sink) const;
  std::string changes();
  std::string changes_of_run();
  void add(std::string& text, const char* event, const nlohmann::json& data);
  void add_if_new(std::string& text, const char* event, const nlohmann::json& data);

  RunRegistry& registry_;
  const std::shared_ptr<WatchedRun> run_;
  const std::function<bool()> is_draining_;
  bool is_first_ = true;
  std::string last_;  // message of "run" or "runs"
  FollowedPlace place_;
  std::string samples_;
  std::int64_t log_position_ = 0;
  int quiet_ = 0;  // seconds
};

}  // namespace myxtts
