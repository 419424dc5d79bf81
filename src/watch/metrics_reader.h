// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "watch/curve.h"

namespace myxtts {

// One line of metrics.jsonl. A value of null is NaN here.
struct ReadLine {
  std::string event;
  std::int64_t step = 0;
  std::vector<std::pair<std::string, double>> values;
};

// The curves of metrics.jsonl while somebody writes it. Each look reads what was added and nothing
// else; memory does not grow with the file. A file that was cut or replaced is read anew. Lines
// that cannot be read are counted and left out, and so are those whose step goes back; a last line
// without its end is left for the next look. One thread at a time.
class MetricsReader {
 public:
  static constexpr std::int64_t kMostExact = 20'000;  // lines that curves() reads again

  explicit MetricsReader(std::filesystem::path path) : path_(std::move(path)) {}

  void look();

  bool is_there() const { return is_there_; }              // the file, at the last look
  std::uint64_t position() const { return position_; }     // bytes that were read
  std::int64_t generation() const { return generation_; }  // grows when all is read anew
  std::int64_t damaged() const { return damaged_; }        // lines
  // By EVENT/NAME.
  const std::map<std::string, Curve, std::less<>>& curves() const { return curves_; }

  // The curves whose names are wanted in the steps `from` to `to`: line by line where those are
  // few enough, else in the buckets that are kept.
  using Wanted = std::function<bool(std::string_view name)>;
  std::map<std::string, std::vector<CurveBucket>> between(std::int64_t from, std::int64_t to,
                                                          const Wanted& wanted) const;

  // Calls `take` for the lines from byte `from` on, as far as they were read; stops when it says
  // false. The byte that it came to.
  std::uint64_t read_again(std::uint64_t from,
                           const std::function<bool(const ReadLine&)>& take) const;

 private:
  struct Mark {
    std::uint64_t position;  // where a line begins
    std::int64_t step;       // of the line before
    std::int64_t line;
  };

  void begin_anew();
  void take(std::string_view text);
  void remember(std::string_view last_line);
  void set_mark();

  const std::filesystem::path path_;
  bool is_there_ = false;
  std::uint64_t position_ = 0;
  std::int64_t generation_ = 0;
  std::int64_t damaged_ = 0;
  std::int64_t lines_ = 0;
  std::int64_t last_step_ = 0;
  std::map<std::string, Curve, std::less<>> curves_;
  std::map<std::string, std::int64_t, std::less<>> last_steps_;  // of each event
  std::vector<Mark> marks_;
  std::int64_t lines_a_mark_ = 32;
  std::uint64_t inode_ = 0;
  std::string last_line_;  // its bytes right before position_
  ReadLine line_;          // kept for its memory
};

}  // namespace myxtts
