// SPDX-License-Identifier: Apache-2.0
#include "cli/placement_trials.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/paths.h"
#include "cli/child_process.h"
#include "config/print_differences.h"
#include "diagnose/auto/reading_json.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::size_t kLargestOutput = 64 << 20;
constexpr std::int64_t kFewestWarmUp = 3;  // steps
constexpr const char* kSettings = "settings.yaml";
constexpr const char* kReading = "reading.json";
constexpr const char* kOutput = "output.txt";

int finish(ChildProcess& process, const Interruption& interruption) {
  bool asked = false;
  for (;;) {
    if (const auto code = process.wait_for(200ms)) return *code;
    if (asked || !interruption.came()) continue;
    process.send(SIGTERM);
    asked = true;
  }
}

// What the process said last, which is its complaint where it failed.
std::string last_line(const std::string& output) {
  std::istringstream lines(output);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
  }
  constexpr std::string_view kPrefix = "myxtts: ";
  return last.starts_with(kPrefix) ? last.substr(kPrefix.size()) : last;
}

}  // namespace

PlacementTrials::PlacementTrials(fs::path folder, std::int64_t steps,
                                 const Interruption& interruption)
    : folder_(std::move(folder)), steps_(steps), interruption_(interruption) {}

PlacementReading PlacementTrials::measure(const RunConfig& config) {
  write_file_atomically(folder_ / kSettings, bytes_of(print_differences(config)));
  fs::remove(folder_ / kReading);
  ChildProcess process(command(), (folder_ / kOutput).string());
  const int code = finish(process, interruption_);
  if (interruption_.came()) throw DataError("interrupted");
  if (code != 0) {
    const std::string said = last_line(read_text_file(folder_ / kOutput, "output", kLargestOutput));
    throw DataError(said.empty() ? fmt::format("the measurement ended with code {}", code) : said);
  }
  return reading_from_json(read_text_file(folder_ / kReading, "measurement", kLargestOutput));
}

std::vector<std::string> PlacementTrials::command() const {
  return {fs::read_symlink("/proc/self/exe").string(),
          "profile",
          "--quiet",
          "--config",
          (folder_ / kSettings).string(),
          "--num-steps",
          std::to_string(steps_),
          "--warm-up-steps",
          std::to_string(std::max<std::int64_t>(kFewestWarmUp, steps_ / 4)),
          "--resident-steps",
          "0",
          "--json",
          (folder_ / kReading).string()};
}

}  // namespace myxtts
