// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace myxtts::test {

// A screen whose every byte a test can read. `columns` makes it a real terminal of that width;
// 0 a plain file.
class CapturedScreen {
 public:
  explicit CapturedScreen(int columns);
  CapturedScreen(const CapturedScreen&) = delete;
  CapturedScreen& operator=(const CapturedScreen&) = delete;
  ~CapturedScreen();

  int file() const { return write_end_; }
  std::string take();  // what was written since the last call

 private:
  int read_end_ = -1;
  int write_end_ = -1;
};

// What a person would see: the lines that are left after all carriage returns and clearings.
std::string seen_on_terminal(const std::string& bytes);

}  // namespace myxtts::test
