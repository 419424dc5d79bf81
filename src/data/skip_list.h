// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "config/data.h"
#include "data/skipped.h"

namespace myxtts {

// The clips a run leaves out: collected by many threads, then told and judged by one.
class SkipList {
 public:
  explicit SkipList(const DataConfig& config)
      : most_share_(config.max_skipped), strict_(config.strict) {}

  // Throws DataError, naming the clip, where data.strict is set. Any thread.
  void add(Skipped skipped);

  // Sorted by manifest, line and file, so that no order of threads shows.
  std::vector<Skipped> sorted() const;
  std::map<SkipReason, std::int64_t> counts() const;
  std::int64_t size() const;

  // Throws DataError with the reasons and what to do when more than data.max_skipped of `all`
  // clips, kept and left out, are in the list. `written` is where skipped.jsonl was put; empty:
  // nowhere.
  void judge(std::int64_t all, const std::filesystem::path& written) const;

 private:
  const double most_share_;
  const bool strict_;

  mutable std::mutex mutex_;
  // Everything below is guarded by mutex_.
  std::vector<Skipped> list_;
};

// "2 audio-too-long, 1 silent", the most frequent first; empty for none.
std::string summary_of(const std::map<SkipReason, std::int64_t>& counts);

// A line of skipped.jsonl: {"file", "manifest", "line", "reason", "measured"}.
std::string json_line(const Skipped& skipped);

// Replaces the file with one line for each. The file appears whole or not at all.
void write_skipped(const std::filesystem::path& path, const std::vector<Skipped>& list);

}  // namespace myxtts
