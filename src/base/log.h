// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace myxtts {

// While it lives, what its thread logs below an error is dropped and its progress is not shown:
// where several threads do the same for different ranks, one speaks for all.
class QuietThread {
 public:
  QuietThread();
  QuietThread(const QuietThread&) = delete;
  QuietThread& operator=(const QuietThread&) = delete;
  ~QuietThread();

 private:
  const bool before_;
};

bool thread_is_quiet();

// What a place to write to can do.
struct ScreenAbilities {
  bool terminal = false;  // lines can be redrawn
  bool colours = false;   // a terminal, and NO_COLOR is not set
  bool progress = true;   // progress is wanted (not --quiet)
  bool unicode = false;   // shows more than ASCII: LC_ALL, LC_CTYPE or LANG name UTF-8

  // Asks the system. TERM=dumb is no terminal; NO_COLOR counts when it is set and not empty.
  static ScreenAbilities of(int file, bool progress);
};

// Standard error as the person sees it: lines, and below them at most one progress bar, which is
// redrawn in place. Log and progress write through the same screen, so that neither tears the
// other. Any thread may call; the file outlives the screen.
class Screen {
 public:
  Screen(int file, const ScreenAbilities& abilities);

  // Say again what the screen can do. Removes a bar.
  void set_abilities(const ScreenAbilities& abilities);
  ScreenAbilities abilities() const;
  int width() const;  // columns; 80 where the terminal does not say

  // Writes `text` and a line end, above the bar.
  void write_line(std::string_view text);

  // Draws the owner's bar in place of its last one. While another owner has a bar, nothing happens:
  // the outer of two nested bars stays.
  void draw_bar(const void* owner, std::string_view bar);

  // Removes the owner's bar, if it has one.
  void remove_bar(const void* owner);

 private:
  void write_all(std::string_view text);

  const int file_;

  // Everything below is guarded by mutex_; so is the writing itself.
  mutable std::mutex mutex_;
  ScreenAbilities abilities_;
  std::string bar_;
  const void* bar_owner_ = nullptr;
};

// Standard error of this process; lives until its end.
Screen& standard_screen();

enum class LogLevel { Debug, Info, Warning, Error };

// Sets up logging for the whole process. Lines from `least` on go to standard error, in colours on
// a terminal (not with NO_COLOR), and never into a progress bar; without `progress` (--quiet) no
// progress is shown. A log file, when asked for, gets every level with time stamps, after what it
// already holds. Call it once, before other threads start; throws ConfigError when the log file
// cannot be opened. Without it, Info and above go to standard error.
void configure_log(LogLevel least = LogLevel::Info, const std::filesystem::path& file = {},
                   bool progress = true);

// Every line also goes to this file from now on, as to that of configure_log(). For the log of a
// run, whose folder is known late: call it before other threads start. Throws DataError.
void add_log_file(const std::filesystem::path& path);

// A line for the log files alone, where the person is told in another way.
void log_to_files(LogLevel level, std::string_view message);

namespace detail {

void write_log(LogLevel level, std::string_view module, std::string_view message);
}

// One line: log_info("pipeline", "{} clips in {} s", count, seconds). Safe from any thread.
template <typename... Args>
void log_debug(std::string_view module, fmt::format_string<Args...> format, Args&&... args) {
  detail::write_log(LogLevel::Debug, module, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_info(std::string_view module, fmt::format_string<Args...> format, Args&&... args) {
  detail::write_log(LogLevel::Info, module, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(std::string_view module, fmt::format_string<Args...> format, Args&&... args) {
  detail::write_log(LogLevel::Warning, module, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_error(std::string_view module, fmt::format_string<Args...> format, Args&&... args) {
  detail::write_log(LogLevel::Error, module, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace myxtts
