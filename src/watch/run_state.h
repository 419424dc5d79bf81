// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace myxtts {

// What a run is doing, or how it ended.
enum class RunState {
  Preparing,  // a process has it, and trained no step yet
  Running,
  Finished,
  Stopped,    // by Ctrl-C or SIGTERM
  OutOfTime,  // --max-minutes
  Failed,
  Killed,  // its process ended without saying how
  Unknown  // nobody wrote it down
};

const char* name_of(RunState state);  // "out-of-time": as status.json and the page have it

// status.json of a run (docs/reference/run-directory.md), and what its lock says of it.
struct RunStatus {
  nlohmann::json record = nlohmann::json::object();  // status.json; empty: not there, or damaged
  bool is_damaged = false;
  RunState state = RunState::Unknown;

  static RunStatus of(const std::filesystem::path& run, double now);
};

// One sentence about it; `step` is the last that is known of.
std::string sentence_of(const RunStatus& status, std::int64_t step,
                        std::optional<std::int64_t> last_step);

}  // namespace myxtts
