// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_training.h"

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/child_process.h"
#include "cli/peer_limits.h"
#include "cli/report.h"
#include "run/checkpoint_files.h"
#include "run/open_model.h"
#include "run/training_state.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kInterrupted = 128 + SIGTERM;

std::vector<std::string> train_command_line(const DemoPlaces& places,
                                            const std::vector<std::string>& more) {
  std::vector<std::string> words{"train",
                                 "--model-size",
                                 "tiny",
                                 "--train-data",
                                 places.corpus.string(),
                                 "--checkpoint-dir",
                                 places.run.string(),
                                 "--device",
                                 "cpu",
                                 "--batch-size",
                                 "4",
                                 "--lr",
                                 "0.001",
                                 "--schedule",
                                 "constant",
                                 "--epochs",
                                 "1000000",
                                 "--val-fraction",
                                 "0.1",
                                 "--eval-steps",
                                 "25",
                                 "--log-steps",
                                 "5",
                                 "--samples",
                                 "0"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Shows the command as a person would type it, and starts it.
std::unique_ptr<ChildProcess> start(std::vector<std::string> words) {
  print(fmt::format("\n$ myxtts {}\n", fmt::join(words, " ")));
  words.insert(words.begin(), fs::read_symlink("/proc/self/exe").string());
  return std::make_unique<ChildProcess>(words);
}

// Waits for the program's end. It is interrupted when `until` says so, and when we are.
int finish(
    ChildProcess& program, const Interruption& interruption,
    const std::function<bool()>& until = [] { return false; }) {
  bool asked = false;
  for (;;) {
    if (const auto code = program.wait_for(200ms)) return *code;
    if (asked || !(interruption.came() || until())) continue;
    program.send(interruption.came() ? interruption.signal() : SIGTERM);
    asked = true;
  }
}

}  // namespace

int train_twice(const DemoPlaces& places, double seconds, const Interruption& interruption) {
  const auto half = std::chrono::duration<double>(seconds / 2);
  const auto began = system_clock().now();
  const auto first = start(train_command_line(places, {"--max-steps", "2000"}));
  const fs::path metrics = places.run / "metrics.jsonl";
  const auto half_is_over = [&] {
    std::error_code missing;
    return system_clock().now() - began > half && fs::file_size(metrics, missing) > 0 && !missing;
  };
  const int code = finish(*first, interruption, half_is_over);
  if (interruption.came() || code != kInterrupted) return code;

  const auto state = read_training_state(places.run / "latest" / files::kState);
  print(
      fmt::format("\nThat was on purpose: SIGTERM after {} steps. Nothing is lost; it goes on "
                  "where it was.\n",
                  state.step));
  const auto second = start(
      train_command_line(places, {"--max-steps", std::to_string(2 * state.step), "--resume"}));
  return finish(*second, interruption);
}

void try_export(const DemoPlaces& places, const Interruption& interruption) {
  const fs::path model = places.run / "latest";
  try {
    require_peer_can_hold(open_model(model).config, model.string());
  } catch (const DataError& error) {
    print(fmt::format("\nThere is nothing to export: {}\n", error.what()));
    return;
  }
  const auto program = start({"export", "--model", model.string(), "--format", "coqui", "--out",
                              places.exported.string()});
  finish(*program, interruption);
}

}  // namespace myxtts
