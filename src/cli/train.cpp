// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/trace.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "config/effective_config.h"
#include "config/stage_settings.h"
#include "session/console.h"
#include "session/plan_run.h"
#include "session/ranks/rank_start.h"
#include "session/run_checks.h"
#include "session/run_report.h"
#include "session/train_stages.h"
#include "session/trial/auto_placement.h"

namespace myxtts {
namespace {

struct TrainArguments {
  explicit TrainArguments(CLI::App& app) : flags(app) {}

  ConfigFlags flags;
  bool dry_run = false;
};

// Of several stages the first is checked, as those after it start from what it makes, and of
// several ranks in this process the first.
int check_only(const EffectiveConfig& settings) {
  const auto& stages = settings.values.train.stages;
  const RunConfig config = stages ? settings_of_stage(settings, stages->front()).values
                                  : settings_of_first_rank(settings.values);
  const RunFacts facts = gather_run_facts(without_auto(config));
  const Checks checks = check_run(facts);
  print(describe(facts, checks));
  if (config.devices.mode == Mode::Auto) {
    print("--mode auto measures this placement and others when the run starts.\n");
  }
  return all_passed(checks) ? 0 : 1;
}

void require_corpus(const RunConfig& config) {
  if (config.data.train_data.empty()) {
    throw ConfigError("There is nothing to train on; name a corpus with --train-data DIR.");
  }
}

// What was come to, in a line, and the exit code for it.
int tell(const StageEnding& ending, const RunDirectory& run, const RankStart& ranks) {
  switch (ending.kind) {
    case StageEnding::Kind::Interrupted:
      log_info("train", "interrupted at step {}; to continue, type: {}", ending.state.step,
               ranks.started(resume_command(run)));
      return kExitBySignal + ending.signal;
    case StageEnding::Kind::OutOfTime:
      log_info("train", "the minutes of --max-minutes are over at step {}; to continue, type: {}",
               ending.state.step, ranks.started(resume_command(run)));
      return 0;
    case StageEnding::Kind::Done:
      break;
  }
  log_info("train", "{} is a model now: --model {}", run.path().string(),
           (run / "latest").string());
  return 0;
}

// One for each rank of this process; none for several stages, of which each makes its own.
std::vector<DevicePlan> plans_of(const RunConfig& config, const RankStart& ranks) {
  if (config.train.stages) return {};
  const ModelConfig model = sizes_of_run(config);
  if (has_rank_threads(config)) return plan_ranks(config, model);
  return {plan_run(without_auto(ranks.own_settings()), model)};
}

// With --gpus: as many processes as GPUs, which get the same command. What one of them could not
// have is said here, once.
int train_in_processes(const RunConfig& config) {
  require_corpus(config);
  const auto planned = plan_ranks(config, sizes_of_run(config));
  return launch_ranks({.ranks = static_cast<int>(planned.size()), .arguments = own_arguments()});
}

int train(const EffectiveConfig& settings, RankStart& ranks,
          const std::optional<Clock::Time>& deadline) {
  const RunConfig& config = settings.values;
  const std::vector<DevicePlan> planned = plans_of(config, ranks);  // before anything is written
  require_corpus(config);
  for (const std::string& caution : cautions(settings)) log_warning("train", "{}", caution);
  if (!planned.empty()) ranks.join(planned.front());
  return ranks.share_failures([&] {
    const RunDirectory run(ranks.folder_of(config.run.checkpoint_dir));
    add_log_file(run / "log.txt");
    const RunFrame frame{.deadline = deadline, .team = ranks.team()};
    const StageEnding ending = planned.empty() ? train_chain(settings, run, deadline)
                                               : train_stage(settings, planned, run, frame);
    return tell(ending, run, ranks);
  });
}

int run_train(const TrainArguments& arguments) {
  const EffectiveConfig settings = make_effective_config(arguments.flags.sources());
  const RunConfig& config = settings.values;
  if (arguments.dry_run) return check_only(settings);
  const auto deadline = deadline_after(config.train);
  RankStart ranks(config);  // where a launcher started several processes
  if (ranks.starts_processes()) return train_in_processes(config);
  if (config.run.trace) start_trace(ranks.own_file(*config.run.trace));
  try {
    const int result = train(settings, ranks, deadline);
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
          .examples = {
              "myxtts train --init models/xtts-v2 --train-data corpora/ljspeech "
              "--checkpoint-dir runs/voice",
              "myxtts train --config runs/voice/config.yaml --resume",
              "myxtts train --stages dvae,gpt,decoder --config configs/one-voice-from-nothing.yaml "
              "--train-data corpora/anna",
              "myxtts train --mode auto --train-data corpora/ljspeech",
              "myxtts train --gpus 0,1 --train-data corpora/ljspeech --batch-size 16",
              "myxtts train --dry-run --config run.yaml --data-gpu 1 --model-gpu 0"}};
}

}  // namespace myxtts
