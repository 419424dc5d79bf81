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
constexpr std::int64_t kRankWarmUp = 16;   // steps that use up what was decoded ahead of time
constexpr std::int64_t kEndlessEpochs = 1'000'000;  // as many as the settings allow
constexpr const char* kSettings = "settings.yaml";
constexpr const char* kReading = "reading.json";
constexpr const char* kOutput = "output.txt";
constexpr const char* kRun = "run";

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

// The same steps in one process.
RunConfig without_ranks(RunConfig config) {
  config.train.batch_size = *config.train.batch_size * *config.parallel.ranks;
  config.parallel.ranks.reset();
  return config;
}

// A run of so many steps that does nothing but train, and tells of every `every` of them.
RunConfig short_run(RunConfig config, std::int64_t steps, std::int64_t every) {
  config.data.val_data.clear();
  config.data.val_fraction = 0;
  config.train.hand_on = HandOn::Latest;
  config.train.epochs = kEndlessEpochs;
  config.train.max_steps = steps;
  config.train.max_minutes.reset();
  config.train.warmup_steps = 0;
  config.run.log_steps = every;
  return config;
}

}  // namespace

PlacementTrials::PlacementTrials(fs::path folder, std::int64_t steps,
                                 const Interruption& interruption)
    : folder_(std::move(folder)), steps_(steps), interruption_(interruption) {}

PlacementReading PlacementTrials::measure(const RunConfig& config) {
  return config.parallel.ranks ? measure_ranks(config) : measure_alone(config);
}

PlacementReading PlacementTrials::measure_alone(const RunConfig& config) {
  const std::int64_t warm_up = std::max<std::int64_t>(kFewestWarmUp, steps_ / 4);
  fs::remove(folder_ / kReading);
  run(config,
      {"profile", "--num-steps", std::to_string(steps_), "--warm-up-steps", std::to_string(warm_up),
       "--resident-steps", "0", "--json", (folder_ / kReading).string()});
  return reading_from_json(read_text_file(folder_ / kReading, "measurement", kLargestOutput));
}

PlacementReading PlacementTrials::measure_ranks(const RunConfig& config) {
  const std::int64_t rounds = 1 + (kRankWarmUp + steps_ - 1) / steps_;  // the last one counts
  RunConfig trial = short_run(config, rounds * steps_, steps_);
  trial.run.checkpoint_dir = folder_ / kRun;
  if (trial.data.cache_dataset) measure_alone(without_ranks(trial));  // fills the cache
  fs::remove_all(folder_ / kRun);
  run(trial, {"train"});
  const std::string metrics =
      read_text_file(folder_ / kRun / "metrics.jsonl", "measurement", kLargestOutput);
  fs::remove_all(folder_ / kRun);
  PlacementReading reading = reading_from_metrics(metrics, rounds * steps_);
  const auto clips =
      static_cast<double>(*trial.train.batch_size * *trial.parallel.ranks * trial.train.grad_accum);
  reading.step_seconds = clips / reading.clips_per_second;
  return reading;
}

void PlacementTrials::run(const RunConfig& config, const std::vector<std::string>& words) {
  write_file_atomically(folder_ / kSettings, bytes_of(print_differences(config)));
  std::vector<std::string> command{fs::read_symlink("/proc/self/exe").string()};
  command.insert(command.end(), words.begin(), words.end());
  command.insert(command.end(), {"--quiet", "--config", (folder_ / kSettings).string()});
  ChildProcess process(command, (folder_ / kOutput).string());
  const int code = finish(process, interruption_);
  if (interruption_.came()) throw DataError("interrupted");
  if (code == 0) return;
  const std::string said = last_line(read_text_file(folder_ / kOutput, "output", kLargestOutput));
  throw DataError(said.empty() ? fmt::format("the measurement ended with code {}", code) : said);
}

}  // namespace myxtts
