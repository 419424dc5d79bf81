// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/child_process.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interruption.h"
#include "base/message_text.h"
#include "cli/command.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "run/public_folder.h"
#include "run/training_state.h"
#include "session/console.h"
#include "session/demo.h"
#include "session/run_report.h"

namespace myxtts {
namespace {

// The folders of a demo, below its own.
constexpr const char* kCorpus = "corpus";
constexpr const char* kRun = "run";
constexpr const char* kExport = "export";

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr int kInterrupted = 128 + SIGTERM;

std::vector<std::string> train_command_line(const fs::path& demo,
                                            const std::vector<std::string>& more) {
  std::vector<std::string> words{"train",
                                 "--model-size",
                                 "tiny",
                                 "--train-data",
                                 (demo / kCorpus).string(),
                                 "--checkpoint-dir",
                                 (demo / kRun).string(),
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

// Trains by the commands that a person would type, which are shown: for half of the time, is then
// interrupted on purpose by SIGTERM, and goes on for as many steps again. The exit code of the
// command that did not end well, else 0. A signal to us goes to the command.
int train_twice(const fs::path& demo, double seconds, const Interruption& interruption) {
  const auto half = std::chrono::duration<double>(seconds / 2);
  const auto began = system_clock().now();
  // The minutes are for the time left that it shows, which is that of the demo; they must not end
  // it before the signal does.
  const double minutes = std::max(seconds, 30.0) / 60;
  const auto first = start_command(train_command_line(
      demo, {"--max-steps", "2000", "--max-minutes", fmt::format("{:.4g}", minutes)}));
  const fs::path metrics = demo / kRun / "metrics.jsonl";
  const auto half_is_over = [&] {
    std::error_code missing;
    return system_clock().now() - began > half && fs::file_size(metrics, missing) > 0 && !missing;
  };
  const int code = finish_command(*first, interruption, half_is_over);
  if (interruption.came() || code != kInterrupted) return code;

  const auto state = read_training_state(demo / kRun / "latest" / files::kState);
  print(
      fmt::format("\nThat was on purpose: SIGTERM after {}. Nothing is lost; it goes on "
                  "where it was.\n",
                  counted(state.step, "step")));
  const auto second = start_command(
      train_command_line(demo, {"--max-steps", std::to_string(2 * state.step), "--resume"}));
  return finish_command(*second, interruption);
}

// Exports the model where coqui-tts can hold its size, and says why not elsewhere.
void try_export(const fs::path& demo, const Interruption& interruption) {
  const fs::path model = demo / kRun / "latest";
  try {
    require_coqui_can_hold(open_model(model).config, model.string());
  } catch (const DataError& error) {
    print(fmt::format("\nThere is nothing to export: {}\n", error.what()));
    return;
  }
  const auto program = start_command({"export", "--model", model.string(), "--format", "coqui",
                                      "--out", (demo / kExport).string()});
  finish_command(*program, interruption);
}

struct DemoArguments {
  fs::path out = "demo";
  double seconds = 120;
  int clips = 96;
};

// Ends a demo that was interrupted or failed: with the run that goes on, or without a trace where
// there is none yet.
int leave(const fs::path& demo, int code) {
  const fs::path settings = demo / kRun / "config.yaml";
  if (fs::exists(settings)) {
    print(fmt::format("\nThe run is in {}. To go on with it, type:\n  {}\n", (demo / kRun).string(),
                      resume_command(demo / kRun)));
    return code;
  }
  std::error_code failed;
  fs::remove_all(demo, failed);
  print(fmt::format(
      "\n{}, and {} is removed.\n",
      code > kExitBySignal ? "Interrupted before anything was trained" : "Nothing was trained",
      demo.string()));
  return code;
}

void say_what_is_next(const fs::path& demo) {
  print(fmt::format(
      "\n{} holds the run: log.txt, metrics.jsonl, curves for TensorBoard, checkpoints.\n"
      "For a voice of your own, type:\n"
      "  myxtts pull xtts-v2\n"
      "  myxtts prepare YOUR_CORPUS --model xtts-v2\n"
      "  myxtts train --init xtts-v2 --train-data YOUR_CORPUS --checkpoint-dir runs/voice\n",
      (demo / kRun).string()));
}

// Everything, one step after another. The exit code. Throws Interrupted.
int show(const DemoArguments& arguments, const std::string& synthesiser,
         const Interruption& interruption) {
  const fs::path& demo = arguments.out;
  print(fmt::format("{} speaks {} sentences into {}.\n", synthesiser, arguments.clips,
                    (demo / kCorpus).string()));
  make_demo_corpus(demo / kCorpus, synthesiser, arguments.clips);
  const int code = train_twice(demo, arguments.seconds, interruption);
  stop_if_interrupted();
  if (code != 0) return leave(demo, code);
  print(describe(demo_outcome(demo / kCorpus, demo / kRun)));
  try_export(demo, interruption);
  stop_if_interrupted();
  say_what_is_next(demo);
  return 0;
}

int run_demo(const DemoArguments& arguments) {
  require_output("--out", arguments.out, Output::Folder);
  const std::string synthesiser = find_speech_synthesiser();
  if (fs::exists(arguments.out)) {
    throw ConfigError(
        fmt::format("{} is there already; name another folder with --out, or remove it.",
                    arguments.out.string()));
  }
  const Interruption interruption;
  try {
    return show(arguments, synthesiser, interruption);
  } catch (const Interrupted& interrupted) {
    return leave(arguments.out, kExitBySignal + interrupted.signal);
  }
}

}  // namespace

Command demo_command() {
  const auto declare = [](CLI::App& app) -> std::function<int()> {
    const auto arguments = std::make_shared<DemoArguments>();
    app.add_option("--out", arguments->out, "The folder to make. [demo]")->type_name("DIR");
    app.add_option("--seconds", arguments->seconds, "About how long it trains, 1 to 36000. [120]")
        ->check(number_in(1, 36'000))
        ->type_name("S");
    app.add_option("--clips", arguments->clips, "Sentences that are spoken, 20 to 3000. [96]")
        ->check(whole_number_in(20, 3000))
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
