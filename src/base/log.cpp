// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>

#include "base/error.h"
#include "base/quiet_thread.h"
#include "base/screen.h"

namespace myxtts {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return spdlog::level::debug;
    case LogLevel::Info:
      return spdlog::level::info;
    case LogLevel::Warning:
      return spdlog::level::warn;
    case LogLevel::Error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// "warning: ..." in yellow, and so on. Information is the usual thing and stands without a word.
std::string_view prefix_of(spdlog::level::level_enum level, bool colours) {
  switch (level) {
    case spdlog::level::debug:
      return colours ? "\x1b[2mdebug:\x1b[0m " : "debug: ";
    case spdlog::level::warn:
      return colours ? "\x1b[33mwarning:\x1b[0m " : "warning: ";
    case spdlog::level::err:
      return colours ? "\x1b[31merror:\x1b[0m " : "error: ";
    default:
      return "";
  }
}

// Shares the screen with the progress bar. The screen has the lock, so the sink needs none.
class ScreenSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    Screen& screen = standard_screen();
    const auto prefix = prefix_of(message.level, screen.abilities().colours);
    screen.write_line(fmt::format(
        "{}{}", prefix, std::string_view(message.payload.data(), message.payload.size())));
  }
  void flush_() override {}  // write_line keeps nothing back
};

// Throws spdlog_ex.
spdlog::sink_ptr open_file(const std::filesystem::path& path) {
  auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
  file->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  return file;
}

spdlog::sink_ptr open_asked_file(const std::filesystem::path& path) {
  try {
    return open_file(path);
  } catch (const spdlog::spdlog_ex& error) {
    throw ConfigError(fmt::format(
        "The log file {} cannot be opened: {}. Give --log-file a path that can be written.",
        path.string(), error.what()));
  }
}

std::shared_ptr<spdlog::logger> make_logger(const LogOptions& options) {
  auto screen = std::make_shared<ScreenSink>();
  screen->set_level(to_spdlog(options.level));
  std::vector<spdlog::sink_ptr> sinks{std::move(screen)};
  if (!options.file.empty()) sinks.push_back(open_asked_file(options.file));
  auto logger = std::make_shared<spdlog::logger>("myxtts", sinks.begin(), sinks.end());
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::debug);  // a crash must not take the last lines with it
  logger->set_error_handler([](const std::string& reason) {
    standard_screen().write_line("error: the log file cannot be written: " + reason);
  });
  return logger;
}

thread_local bool quiet = false;

std::shared_ptr<spdlog::logger>& current_logger() {
  static std::shared_ptr<spdlog::logger> logger = make_logger({});
  return logger;
}

}  // namespace

void configure_log(const LogOptions& options) {
  current_logger() = make_logger(options);
  standard_screen().set_abilities(ScreenAbilities::of(STDERR_FILENO, options.progress));
}

void add_log_file(const std::filesystem::path& path) {
  try {
    current_logger()->sinks().push_back(open_file(path));
  } catch (const spdlog::spdlog_ex& error) {
    throw DataError(
        fmt::format("The log {} of the run cannot be opened: {}.", path.string(), error.what()));
  }
}

void log_to_files(LogLevel level, std::string_view message) {
  const spdlog::details::log_msg line("myxtts", to_spdlog(level),
                                      spdlog::string_view_t(message.data(), message.size()));
  const auto& sinks = current_logger()->sinks();
  for (std::size_t i = 1; i < sinks.size(); ++i) {  // the first is the screen
    sinks[i]->log(line);
    sinks[i]->flush();
  }
}

QuietThread::QuietThread() : before_(std::exchange(quiet, true)) {}

QuietThread::~QuietThread() {
  quiet = before_;
}

bool thread_is_quiet() {
  return quiet;
}

void detail::write_log(LogLevel level, std::string_view module, std::string_view message) {
  if (quiet && level != LogLevel::Error) return;
  current_logger()->log(to_spdlog(level), "{}: {}", module, message);
}

}  // namespace myxtts
