// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_ranks.h"

#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "base/screen.h"
#include "cli/report.h"
#include "parallel/rank_processes.h"

namespace myxtts {
namespace {

// Rank 0's bar may stand in the last line of the terminal; it draws it again with its next step.
ShowLine above_the_bar() {
  const bool may_have_bar = standard_screen().abilities().terminal;
  return [may_have_bar](const std::string& line) {
    standard_screen().write_line(may_have_bar ? "\r\x1b[K" + line : line);
  };
}

}  // namespace

int launch_ranks(const RankLaunch& launch) {
  std::vector<std::string> command = launch.arguments;
  command.insert(command.begin(), std::filesystem::read_symlink("/proc/self/exe").string());
  RankProcesses processes({.ranks = launch.ranks,
                           .command = std::move(command),
                           .port = launch.port.value_or(0),
                           .show = above_the_bar()});
  const auto outcome = processes.run();
  if (!outcome.cause.empty()) {
    log_to_files(LogLevel::Error, outcome.cause);
    report_error(outcome.cause);
  }
  return outcome.exit_code;
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (!words.empty()) words.erase(words.begin());
  return words;
}

}  // namespace myxtts
