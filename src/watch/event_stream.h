// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include <httplib.h>

#include "watch/run_shelf.h"

namespace myxtts {

// Server-sent events: what changes of the overview or of one run, looked at once a second, until
// the client leaves or `is_ending` says so. A connection's thread waits in it.
class EventStream {
 public:
  // `run` null: the overview. Everything outlives it.
  EventStream(RunShelf& shelf, std::shared_ptr<WatchedRun> run, std::function<bool()> is_ending);

  // The next messages. False: the connection is given up.
  bool send_next(httplib::DataSink& sink);

 private:
  bool wait_a_second(const httplib::DataSink& sink) const;
  std::string changes();
  std::string changes_of_run();
  void add(std::string& text, const char* event, const nlohmann::json& data);
  void add_if_new(std::string& text, const char* event, const nlohmann::json& data);

  RunShelf& shelf_;
  const std::shared_ptr<WatchedRun> run_;
  const std::function<bool()> is_ending_;
  bool is_first_ = true;
  std::string last_;  // message of "run" or "runs"
  FollowedPlace place_;
  std::string samples_;
  std::int64_t log_position_ = 0;
  int quiet_ = 0;  // seconds
};

}  // namespace myxtts
