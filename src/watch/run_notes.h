// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "watch/metrics_reader.h"
#include "watch/run_state.h"

namespace myxtts {

// A run directory as it was looked at last.
struct NotedRun {
  const std::filesystem::path& folder;
  const RunStatus& status;
  const MetricsReader& metrics;
  std::int64_t damaged_skipped = 0;     // lines of skipped.jsonl
  std::int64_t damaged_suspicious = 0;  // and of suspicious.jsonl
};

// Adds "notes", what is missing or damaged in it as sentences, and "note_codes", the same for
// translation. A run that is being prepared has not written its files yet: none of them is missing.
void add_notes(nlohmann::json& line, const NotedRun& run);

}  // namespace myxtts
