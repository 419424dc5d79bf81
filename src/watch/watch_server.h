// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <httplib.h>

#include <nlohmann/json.hpp>

#include "base/thread_group.h"
#include "http/guarded_server.h"
#include "watch/run_registry.h"

namespace myxtts {

// The page of training runs, and what it asks for (docs/reference/watch.md). It reads run
// directories and changes nothing in them; only what lies in the folders it was given can be asked
// for, and the recordings that the lists of a run name.
//
//   WatchServer(...) ──▶ port() ──▶ serve() ... until stop(), from any thread
class WatchServer {
 public:
  // `folders` are runs, and folders of runs; `version` is the program's. Throws ConfigError when
  // nobody can listen there.
  WatchServer(const ListenOptions& listen, std::vector<std::filesystem::path> folders,
              std::string version);
  WatchServer(const WatchServer&) = delete;
  WatchServer& operator=(const WatchServer&) = delete;

  int port() const { return port_; }
  void serve() { server_.serve(); }
  void stop() { server_.stop(); }

 private:
  void add_routes();
  void add_run_routes();
  void add_sound_routes();
  void answer_events(const httplib::Request& request, httplib::Response& response);
  void get_json(const char* path, std::function<nlohmann::json(const httplib::Request&)> make);
  std::shared_ptr<WatchedRun> run_of(const httplib::Request& request);

  RunRegistry registry_;
  GuardedServer server_;
  std::atomic<int> streams_ = 0;
  int port_ = 0;
};

// The server of one run beside its training, in threads to which all others go first.
class WatchBeside {
 public:
  // `port` nothing: 8021, or any that is free where that is taken. Throws ConfigError.
  WatchBeside(const std::filesystem::path& run, std::optional<int> port, std::string version);
  WatchBeside(const WatchBeside&) = delete;
  WatchBeside& operator=(const WatchBeside&) = delete;
  ~WatchBeside();

  std::string address() const;  // "http://127.0.0.1:8021/"

 private:
  std::unique_ptr<WatchServer> server_;
  ThreadGroup threads_;  // last: it uses the server
};

}  // namespace myxtts
