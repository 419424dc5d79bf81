// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace myxtts {

// The numbers of one moment of a run, in the order they are written.
using Metrics = std::vector<std::pair<std::string, double>>;

// A moment of a run: "train", "validation", ... and its numbers.
struct MetricsLine {
  std::string event;
  std::int64_t step = 0;  // updates so far
  Metrics metrics;
};

// metrics.jsonl: one line for each moment a run reports, {"step": 120, "loss": 2.31, ...}.
//
// A resumed run must not log a step twice, so the log is cut behind what its checkpoint knows: a
// checkpoint keeps position() and its step, and opening with them drops every line behind the
// position that is of a later step. A line is written whole or not at all as far as readers can
// see. One thread at a time.
class MetricsLog {
 public:
  // Where a log goes on: behind `position`, and behind lines of steps up to `step`. A log that is
  // shorter than that (it was moved away, or a power cut took its end) goes on with what it has,
  // and that is said. Throws DataError when the file cannot be read or written.
  explicit MetricsLog(const std::filesystem::path& path, std::uint64_t position = 0,
                      std::int64_t step = 0);
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;
  ~MetricsLog();

  // Numbers that are not finite are written as null. Throws DataError when the disk refuses one of
  // the lines; then nothing of them is left.
  void add(std::span<const MetricsLine> lines);
  void add(const std::string& event, std::int64_t step, const Metrics& metrics) {
    add(std::array{MetricsLine{event, step, metrics}});
  }

  std::uint64_t position() const { return position_; }  // bytes

 private:
  void cut();  // what lies behind position_

  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t position_ = 0;
};

}  // namespace myxtts
