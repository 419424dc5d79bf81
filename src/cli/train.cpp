// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/report.h"
#include "cli/run_facts.h"
#include "config/effective_config.h"

namespace myxtts {
namespace {

struct TrainArguments {
  explicit TrainArguments(CLI::App& app) : flags(app) {}

  ConfigFlags flags;
  bool dry_run = false;
};

int check_only(const RunConfig& config) {
  const RunFacts facts = gather_run_facts(config);
  const std::vector<RunCheck> checks = check_run(facts);
  print(describe(facts, checks));
  return all_pass(checks) ? 0 : 1;
}

int run_train(const TrainArguments& arguments) {
  const RunConfig config = make_effective_config(arguments.flags.sources()).values;
  if (arguments.dry_run) return check_only(config);

  const DevicePlan plan = plan_and_open_devices(config, facts_of_model(config.train).config);
  log_info("train", "{}", describe(plan));
  throw ConfigError(
      "Training itself is not part of this version; myxtts train --dry-run checks a run.");
}

std::function<int()> declare_train(CLI::App& app) {
  const auto arguments = std::make_shared<TrainArguments>(app);
  app.add_flag("--dry-run", arguments->dry_run,
               "Checks devices, model, corpus, memory and disk, prints what would be done, and "
               "ends with 0 if the run can start, with 1 if not.")
      ->group("Run");
  return [arguments] { return run_train(*arguments); };
}

}  // namespace

Command train_command() {
  return {.name = "train",
          .group = "Training",
          .summary = "Checks a training run before it starts (training itself is yet to come)",
          .declare = declare_train,
          .examples = {"myxtts train --dry-run --init models/xtts-v2 --train-data corpora/ljspeech",
                       "myxtts train --dry-run --config run.yaml --data-gpu 1 --model-gpu 0"}};
}

}  // namespace myxtts
