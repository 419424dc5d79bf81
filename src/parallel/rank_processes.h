// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "parallel/rank_process.h"

namespace myxtts {

// Catches SIGINT, SIGTERM and SIGHUP, whichever thread they are delivered to, so that they can be
// read from a file descriptor. A SIGHUP that is ignored, as under nohup, stays ignored. One object
// at a time.
class CaughtSignals {
 public:
  CaughtSignals();
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;
  ~CaughtSignals();  // signals that were not taken are dropped

  int file() const { return pipe_[0]; }  // readable when one has come
  int take() const;                      // 0: none has come

 private:
  std::array<int, 2> pipe_{-1, -1};
  std::array<struct sigaction, 3> before_{};
};

// A TCP port of this host that nobody listens on now. Throws DeviceError where there is none.
int free_port();

// The ranks of a run on this host, as child processes of ours, from their start to their end.
//
//   started --run()--> all have ended
//
// SIGINT, SIGTERM and SIGHUP are passed on to all of them while this object lives, and they then
// have as long as they need; a second signal kills them. When one rank fails, the others get
// SIGTERM and, some seconds later, SIGKILL; rank 0 is given more time, as it keeps what was done;
// those that are stopped get it at once. One thread, and one object at a time in a process.
class RankProcesses {
 public:
  struct Settings {
    int ranks = 1;
    std::vector<std::string> command = {};  // a program, by its path, and its arguments
    int port = 0;                           // where rank 0 listens; 0: a free one
    std::chrono::milliseconds patience = std::chrono::seconds(5);        // from SIGTERM to SIGKILL
    std::chrono::milliseconds time_to_save = std::chrono::seconds(120);  // the same for rank 0
    ShowLine show = {};  // gets what ranks other than 0 write
  };

  struct Outcome {
    int exit_code = 0;       // of the first rank that failed; 128 + n after signal n
    std::string cause = {};  // which rank failed first, how, and its last words; empty: none did
  };

  // Starts them; throws DeviceError. Those that still run when the object goes are killed.
  explicit RankProcesses(Settings settings);
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  Outcome run();  // waits for the end of all

 private:
  struct Rank {
    Rank(const World& world, const Settings& settings);

    const int number;
    RankProcess process;
    RankOutput output;
  };

  bool some_run() const;
  void wait_for_something() const;
  void show_output(Rank& rank);
  void take_signals();
  void finish(Rank& rank);
  void take_ends();
  void judge(const Rank& rank);
  void end_others(const Rank& failed);
  void send_all(int signal);
  void kill_stopped();
  void kill_late();
  void kill_all();
  std::string cause() const;

  const Settings settings_;
  const CaughtSignals signals_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  int caught_ = 0;                                                     // the first signal that came
  const Rank* failed_ = nullptr;                                       // the first that did
  bool killed_ = false;                                                // all that ran were, by us
  std::optional<std::chrono::steady_clock::time_point> asked_to_end_;  // as one rank has failed
};

}  // namespace myxtts
