// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/details/null_mutex.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>

#include "base/atomic_file.h"
#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  return value == nullptr ? "" : value;
}

// By the first of the variables that is set, as the system's own library has it.
bool is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    const auto names = [value](std::string_view word) {
      return value.find(word) != std::string_view::npos;
    };
    return names("UTF-8") || names("utf8") || names("utf-8") || names("UTF8");
  }
  return false;
}

}  // namespace

ScreenAbilities ScreenAbilities::of(int file, bool progress) {
  const bool terminal = isatty(file) == 1 && environment("TERM") != "dumb";
  return {.terminal = terminal,
          .colours = terminal && environment("NO_COLOR").empty(),
          .progress = progress,
          .unicode = terminal && is_utf8()};
}

Screen::Screen(int file, const ScreenAbilities& abilities) : file_(file), abilities_(abilities) {}

void Screen::set_abilities(const ScreenAbilities& abilities) {
  const std::lock_guard lock(mutex_);
  if (bar_owner_ != nullptr) write_all(kClearLine);
  bar_owner_ = nullptr;
  abilities_ = abilities;
}

ScreenAbilities Screen::abilities() const {
  const std::lock_guard lock(mutex_);
  return abilities_;
}

int Screen::width() const {
  winsize size{};
  return ioctl(file_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void Screen::write_line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  std::string output;
  if (bar_owner_ != nullptr) output += kClearLine;
  output += text;
  output += '\n';
  if (bar_owner_ != nullptr) output += bar_;
  write_all(output);
}

void Screen::draw_bar(const void* owner, std::string_view bar) {
  const std::lock_guard lock(mutex_);
  if (bar_owner_ != nullptr && bar_owner_ != owner) return;
  bar_owner_ = owner;
  bar_ = bar;
  write_all(std::string(kClearLine) + bar_);
}

void Screen::remove_bar(const void* owner) {
  const std::lock_guard lock(mutex_);
  if (bar_owner_ != owner) return;
  bar_owner_ = nullptr;
  write_all(kClearLine);
}

// In one piece where the system allows it, past C++ streams. An error has nobody left to be told.
void Screen::write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file_, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd ready{file_, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

Screen& standard_screen() {
  static Screen screen(STDERR_FILENO, ScreenAbilities::of(STDERR_FILENO, /*progress=*/true));
  return screen;
}

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
    require_output("--log-file", path, Output::GrowingFile);
    return open_file(path);
  } catch (const DataError& error) {
    throw ConfigError(error.what());
  } catch (const spdlog::spdlog_ex& error) {
    throw ConfigError(fmt::format(
        "The log file {} cannot be opened: {}. Give --log-file a path that can be written.",
        path.string(), error.what()));
  }
}

std::shared_ptr<spdlog::logger> make_logger(LogLevel least, const std::filesystem::path& file) {
  auto screen = std::make_shared<ScreenSink>();
  screen->set_level(to_spdlog(least));
  std::vector<spdlog::sink_ptr> sinks{std::move(screen)};
  if (!file.empty()) sinks.push_back(open_asked_file(file));
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
  static std::shared_ptr<spdlog::logger> logger = make_logger(LogLevel::Info, {});
  return logger;
}

}  // namespace

void configure_log(LogLevel least, const std::filesystem::path& file, bool progress) {
  current_logger() = make_logger(least, file);
  standard_screen().set_abilities(ScreenAbilities::of(STDERR_FILENO, progress));
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
