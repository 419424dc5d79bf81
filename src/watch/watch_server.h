// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_group.h"
#include "http/access.h"

namespace myxtts {

struct WatchOptions {
  ListenOptions listen;
  std::vector<std::filesystem::path> folders;  // runs, and folders of runs
  std::string version;                         // of the program
};

// The page of training runs, and what it asks for (docs/reference/watch.md). It reads run
// directories and changes nothing in them; only what lies in the folders it was given can be asked
// for, and the recordings that the lists of a run name.
//
//   WatchServer(...) ──▶ port() ──▶ serve() ... until stop(), from any thread
class WatchServer {
 public:
  // Throws ConfigError when nobody can listen there.
  explicit WatchServer(WatchOptions options);
  WatchServer(const WatchServer&) = delete;
  WatchServer& operator=(const WatchServer&) = delete;
  ~WatchServer();

  int port() const;
  void serve();
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
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
