// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <memory>
#include <string>
#include <vector>

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "base/error.h"

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

std::shared_ptr<spdlog::logger> make_logger(const LogOptions& options) {
  auto screen = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  screen->set_level(to_spdlog(options.level));
  screen->set_pattern("%^%l%$ %n: %v");
  std::vector<spdlog::sink_ptr> sinks{std::move(screen)};
  if (!options.file.empty()) {
    try {
      auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(options.file.string());
      file->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
      sinks.push_back(std::move(file));
    } catch (const spdlog::spdlog_ex& error) {
      throw ConfigError(fmt::format(
          "The log file {} cannot be opened: {}. Give --log-file a path that can be written.",
          options.file.string(), error.what()));
    }
  }
  auto logger = std::make_shared<spdlog::logger>("myxtts", sinks.begin(), sinks.end());
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::info);
  return logger;
}

std::shared_ptr<spdlog::logger>& current_logger() {
  static std::shared_ptr<spdlog::logger> logger = make_logger({});
  return logger;
}

}  // namespace

void configure_log(const LogOptions& options) {
  current_logger() = make_logger(options);
}

void detail::write_log(LogLevel level, std::string_view module, std::string_view message) {
  current_logger()->log(to_spdlog(level), "{}: {}", module, message);
}

}  // namespace myxtts
