// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/trace.h"
#include "cli/auto_mode.h"
#include "cli/command.h"
#include "cli/compare_placements.h"
#include "cli/config_flags.h"
#include "cli/interruption.h"
#include "cli/report.h"
#include "cli/run_facts.h"
#include "config/effective_config.h"
#include "device/plan/plan_file.h"
#include "run/resume.h"
#include "session/plan_run.h"
#include "session/run_records.h"
#include "session/training_run.h"

namespace myxtts {
namespace {

constexpr int kExitBySignal = 128;

struct TrainArguments {
  explicit TrainArguments(CLI::App& app) : flags(app) {}

  ConfigFlags flags;
  bool dry_run = false;
};

int check_only(const RunConfig& config) {
  const RunFacts facts = gather_run_facts(without_auto(config));
  const std::vector<RunCheck> checks = check_run(facts);
  print(describe(facts, checks));
  if (config.devices.mode == Mode::Auto) {
    print("--mode auto measures this placement and others when the run starts.\n");
  }
  return all_pass(checks) ? 0 : 1;
}

void refuse_what_is_to_come(const RunConfig& config) {
  if (config.train.stage != Stage::Gpt) {
    throw ConfigError(fmt::format("--stage {} cannot be trained yet; this version trains gpt.",
                                  config.train.stage == Stage::Dvae ? "dvae" : "decoder"));
  }
  if (config.data.train_data.empty()) {
    throw ConfigError("There is nothing to train on; name a corpus with --train-data DIR.");
  }
}

struct RunStart {
  const RunDirectory& run;
  CheckpointStore& checkpoints;
  std::optional<Checkpoint> resumed;
};

int train_as_planned(const EffectiveConfig& settings, const DevicePlan& planned,
                     const RunStart& start) {
  const DevicePlan plan = open_and_tell(planned);
  write_plan(plan, start.run.path());
  TrainingRun training(settings, plan, start.run, start.checkpoints, start.resumed);
  const Interruption interruption;
  const InterruptionWatch watch([&training] { training.stop(); });
  training.start();
  const bool whole = training.train();
  print(training.summary());
  if (!whole) {
    log_info("train", "interrupted at step {}; to continue, type: {}", training.state().step,
             resume_command(start.run));
    return kExitBySignal + interruption.signal();
  }
  log_info("train", "{} is a model now: --model {}", start.run.path().string(),
           (start.run / "latest").string());
  return 0;
}

int train_in_fastest(const EffectiveConfig& settings, const DevicePlan& usual,
                     const RunStart& start) {
  std::optional<EffectiveConfig> chosen;
  {
    const Interruption interruption;
    chosen = settle_placement(settings, usual, start.run, start.resumed, interruption);
    if (!chosen) {
      log_info("train", "interrupted while placements were measured; to begin again, type: {}",
               resume_command(start.run));
      return kExitBySignal + interruption.signal();
    }
  }
  const RunConfig& config = chosen->values;
  return train_as_planned(*chosen, plan_run(config, sizes_to_train(config.train)), start);
}

int train(const EffectiveConfig& settings, const RunDirectory& run, const DevicePlan& planned) {
  const RunDirectoryConfig& config = settings.values.run;
  CheckpointStore checkpoints(run.path(), {.last = static_cast<std::size_t>(config.keep_last),
                                           .best = static_cast<std::size_t>(config.keep_best)});
  const RunStart start{
      run, checkpoints,
      find_starting_point(run, checkpoints, config.resume, settings.values.train.stage)};
  write_settings(run, settings);
  const bool measures = settings.values.devices.mode == Mode::Auto;
  return measures ? train_in_fastest(settings, planned, start)
                  : train_as_planned(settings, planned, start);
}

int run_train(const TrainArguments& arguments) {
  const EffectiveConfig settings = make_effective_config(arguments.flags.sources());
  const RunConfig& config = settings.values;
  if (arguments.dry_run) return check_only(config);
  const DevicePlan planned = plan_run(without_auto(config), sizes_to_train(config.train));
  refuse_what_is_to_come(config);
  for (const std::string& caution : cautions(settings)) log_warning("train", "{}", caution);

  const RunDirectory run(config.run.checkpoint_dir);
  add_log_file(run / "log.txt");
  if (config.run.trace) start_trace(*config.run.trace);
  try {
    const int result = train(settings, run, planned);
    finish_trace();
    return result;
  } catch (const std::exception& error) {
    log_to_files(LogLevel::Error, error.what());  // main.cpp tells the person
    finish_trace();
    throw;
  }
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
          .summary = "Trains a model on recorded speech, from a model or from nothing",
          .declare = declare_train,
          .examples = {"myxtts train --init models/xtts-v2 --train-data corpora/ljspeech "
                       "--checkpoint-dir runs/voice",
                       "myxtts train --config runs/voice/config.yaml --resume",
                       "myxtts train --mode auto --train-data corpora/ljspeech",
                       "myxtts train --dry-run --config run.yaml --data-gpu 1 --model-gpu 0"}};
}

}  // namespace myxtts
