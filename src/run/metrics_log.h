// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace myxtts {

// The numbers of one moment of a run, in the order they are written.
using Metrics = std::vector<std::pair<std::string, double>>;

// metrics.jsonl: one line for each moment a run reports, {"step": 120, "loss": 2.31, ...}.
//
// A resumed run must not tell a step twice, so the log is cut where its checkpoint was made: a
// checkpoint keeps position(), and opening at that position drops every byte behind it. A line is
// written whole or not at all as far as readers can see. One thread at a time.
class MetricsLog {
 public:
  // Throws DataError when the file cannot be written, or is shorter than `position`.
  MetricsLog(const std::filesystem::path& path, std::uint64_t position);
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;
  ~MetricsLog();

  // `event` is "train", "validation", ... Numbers that are not finite are written as null.
  void add(std::string_view event, std::int64_t step, const Metrics& metrics);

  std::uint64_t position() const { return position_; }  // bytes

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t position_ = 0;
};

}  // namespace myxtts
