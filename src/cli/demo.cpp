// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/command.h"
#include "cli/demo_corpus.h"
#include "cli/demo_outcome.h"
#include "cli/demo_training.h"
#include "cli/interruption.h"
#include "cli/report.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

struct DemoArguments {
  fs::path out = "demo";
  double seconds = 120;
  int clips = 96;
};

int leave(const DemoPlaces& places, int code) {
  print(fmt::format(
      "\nThe run is in {0}. To go on with it, type:\n  myxtts train --config {0}/config.yaml "
      "--resume\n",
      places.run.string()));
  return code;
}

void say_what_is_next(const DemoPlaces& places) {
  print(fmt::format(
      "\n{} holds the run: log.txt, metrics.jsonl, curves for TensorBoard, checkpoints.\n"
      "For a voice of your own, type:\n"
      "  myxtts import --from XTTS_V2_FOLDER --out models/xtts-v2\n"
      "  myxtts prepare YOUR_CORPUS --model models/xtts-v2\n"
      "  myxtts train --init models/xtts-v2 --train-data YOUR_CORPUS --checkpoint-dir runs/voice\n",
      places.run.string()));
}

int run_demo(const DemoArguments& arguments) {
  const SpeechSynthesiser synthesiser = find_speech_synthesiser();
  if (fs::exists(arguments.out)) {
    throw ConfigError(
        fmt::format("{} is there already; name another folder with --out, or remove it.",
                    arguments.out.string()));
  }
  const DemoPlaces places{.corpus = arguments.out / "corpus",
                          .run = arguments.out / "run",
                          .exported = arguments.out / "export"};
  print(fmt::format("{} speaks {} sentences into {}.\n", synthesiser.program, arguments.clips,
                    places.corpus.string()));
  make_demo_corpus(places.corpus, synthesiser, arguments.clips);
  const Interruption interruption;
  const int code = train_twice(places, arguments.seconds, interruption);
  if (code != 0) return leave(places, code);
  print(describe(demo_outcome(places.corpus, places.run)));
  try_export(places, interruption);
  say_what_is_next(places);
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
