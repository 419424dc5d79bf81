// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// How many lines of which file could not be read.
using DamagedLines = std::vector<std::pair<const char*, std::int64_t>>;

// Adds "notes", what is missing or damaged in a run as sentences, and "note_codes", the same for
// translation. `unrecorded`: lines of metrics.jsonl that the run could not write. A run that is
// being prepared has not written its files yet: none of them is missing.
void add_notes(nlohmann::json& line, const std::filesystem::path& run, const RunStatus& status,
               const DamagedLines& damaged, std::int64_t unrecorded);

}  // namespace myxtts
