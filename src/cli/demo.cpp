// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "cli/child_process.h"
#include "cli/command.h"
#include "cli/demo_corpus.h"
#include "cli/demo_outcome.h"
#include "cli/interruption.h"
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

struct DemoArguments {
  fs::path out = "demo";
  double seconds = 120;
  int clips = 96;
};

std::vector<std::string> train_command_line(const DemoArguments& arguments,
                                            const std::vector<std::string>& more) {
  std::vector<std::string> words{"train",
                                 "--model-size",
                                 "tiny",
                                 "--train-data",
                                 (arguments.out / "corpus").string(),
                                 "--checkpoint-dir",
                                 (arguments.out / "run").string(),
                                 "--device",
                                 "cpu",
                                 "--batch-size",
                                 "8",
                                 "--lr",
                                 "0.001",
                                 "--schedule",
                                 "constant",
                                 "--warmup-steps",
                                 "20",
                                 "--epochs",
                                 "1000000",
                                 "--val-fraction",
                                 "0.1",
                                 "--eval-steps",
                                 "50",
                                 "--log-steps",
                                 "5"};
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
int finish(ChildProcess& program, const Interruption& interruption,
           const std::function<bool()>& until = [] { return false; }) {
  bool asked = false;
  for (;;) {
    if (const auto code = program.wait_for(200ms)) return *code;
    if (asked || !(interruption.came() || until())) continue;
    program.send(interruption.came() ? interruption.signal() : SIGTERM);
    asked = true;
  }
}

int leave(const DemoArguments& arguments, int code) {
  print(
      fmt::format("\nThe run is in {0}. To go on with it, type:\n  myxtts train --config "
                  "{0}/config.yaml --resume\n",
                  (arguments.out / "run").string()));
  return code;
}

// Trains until the time is over, is interrupted on purpose, and goes on for as many steps again.
int train_twice(const DemoArguments& arguments, const Interruption& interruption) {
  const auto half = std::chrono::duration<double>(arguments.seconds / 2);
  const auto began = system_clock().now();
  const auto first = start(train_command_line(arguments, {"--max-steps", "1000000"}));
  const fs::path metrics = arguments.out / "run" / "metrics.jsonl";
  const auto half_is_over = [&] {
    std::error_code missing;
    return system_clock().now() - began > half && fs::file_size(metrics, missing) > 0 && !missing;
  };
  const int code = finish(*first, interruption, half_is_over);
  if (interruption.came() || code != kInterrupted) return code;

  const auto state = read_training_state(arguments.out / "run" / "latest" / files::kState);
  print(
      fmt::format("\nThat was on purpose: SIGTERM after {} steps. Nothing is lost; it goes on "
                  "where it was.\n",
                  state.step));
  const auto second = start(
      train_command_line(arguments, {"--max-steps", std::to_string(2 * state.step), "--resume"}));
  return finish(*second, interruption);
}

void try_export(const DemoArguments& arguments, const Interruption& interruption) {
  const fs::path model = arguments.out / "run" / "latest";
  try {
    require_peer_can_hold(open_model(model).config, model.string());
  } catch (const DataError& error) {
    print(fmt::format("\nThere is nothing to export: {}\n", error.what()));
    return;
  }
  const auto program = start({"export", "--model", model.string(), "--format", "coqui", "--out",
                              (arguments.out / "export").string()});
  finish(*program, interruption);
}

int run_demo(const DemoArguments& arguments) {
  const SpeechSynthesiser synthesiser = find_speech_synthesiser();
  if (fs::exists(arguments.out)) {
    throw ConfigError(
        fmt::format("{} is there already; name another folder with --out, or remove "
                    "it.",
                    arguments.out.string()));
  }
  const Interruption interruption;
  print(fmt::format("{} speaks {} sentences into {}.\n", synthesiser.program, arguments.clips,
                    (arguments.out / "corpus").string()));
  make_demo_corpus(arguments.out / "corpus", synthesiser, arguments.clips);
  const int code = train_twice(arguments, interruption);
  if (code != 0) return leave(arguments, code);
  print(describe(demo_outcome(arguments.out / "corpus", arguments.out / "run")));
  try_export(arguments, interruption);
  print(
      fmt::format("\n{0} holds the run: log.txt, metrics.jsonl, curves for TensorBoard, "
                  "checkpoints.\nFor your own voice, type:\n"
                  "  myxtts import --from XTTS_V2_FOLDER --out models/xtts-v2\n"
                  "  myxtts prepare YOUR_CORPUS --model models/xtts-v2\n"
                  "  myxtts train --init models/xtts-v2 --train-data YOUR_CORPUS "
                  "--checkpoint-dir runs/voice\n",
                  (arguments.out / "run").string()));
  return 0;
}

}  // namespace

Command demo_command() {
  const auto declare = [](CLI::App& app) -> std::function<int()> {
    const auto arguments = std::make_shared<DemoArguments>();
    app.add_option("--out", arguments->out, "The folder to make. [demo]")->type_name("DIR");
    app.add_option("--seconds", arguments->seconds, "About how long it trains. [120]")
        ->check(CLI::Range(1.0, 36000.0))
        ->type_name("S");
    app.add_option("--clips", arguments->clips, "Sentences that are spoken. [96]")
        ->check(CLI::Range(20, 3000))
        ->type_name("N");
    return [arguments] { return run_demo(*arguments); };
  };
  return {.name = "demo",
          .group = "Training",
          .summary = "Makes a small corpus and trains on it for two minutes, to see it work",
          .declare = declare,
          .examples = {"myxtts demo"}};
}

}  // namespace myxtts
