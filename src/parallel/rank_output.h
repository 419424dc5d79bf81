// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace myxtts {

// Shows one whole line, without its end.
using ShowLine = std::function<void(const std::string& line)>;

// What a rank writes, in pieces as they come, shown in whole lines that say whose they are. One
// thread.
class RankOutput {
 public:
  RankOutput(int rank, ShowLine show);

  void add(std::string_view piece);
  void finish();  // shows a last line that has no end

  // What it said of its end: the last of its error messages, else its last line.
  const std::string& last_words() const { return last_error_.empty() ? last_line_ : last_error_; }

 private:
  void show_line(std::string line);

  const int rank_;
  const ShowLine show_;
  std::string unfinished_;
  std::string last_line_;
  std::string last_error_;
};

}  // namespace myxtts
