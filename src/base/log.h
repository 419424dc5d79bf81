// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace myxtts {

enum class LogLevel { Debug, Info, Warning, Error };

// What is shown where. Lines go to standard error, in colours on a terminal (not with NO_COLOR),
// and never into a progress bar. A log file, when asked for, gets every level with time stamps,
// after what it already holds.
struct LogOptions {
  LogLevel level = LogLevel::Info;  // the least that is shown on standard error
  std::filesystem::path file = {};  // empty: no log file
  bool progress = true;             // false (--quiet): progress is not shown
};

// Sets up logging for the whole process. Call it once, before other threads start; throws
// ConfigError when the log file cannot be opened. Without it, Info and above go to standard error.
void configure_log(const LogOptions& options);

// Every line also goes to this file from now on, as with LogOptions::file. For the log of a run,
// whose folder is known late: call it before other threads start. Throws DataError.
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
