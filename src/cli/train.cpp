// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/trace.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "config/effective_config.h"
#include "config/model_json.h"
#include "config/part_settings.h"
#include "config/resumed_run.h"
#include "config/value_text.h"
#include "data/corpus.h"
#include "data/layouts/manifest.h"
#include "diagnose/corpus/corpus_survey.h"
#include "parallel/world.h"
#include "run/model_folder.h"
#include "run/open_model.h"
#include "run/public_folder.h"
#include "session/console.h"
#include "session/part_chain.h"
#include "session/plan_run.h"
#include "session/ranks/rank_start.h"
#include "session/run_checks.h"
#include "session/run_record.h"
#include "session/run_report.h"
#include "session/samples/part_samples.h"
#include "session/samples/sample_judge.h"
#include "session/trial/auto_placement.h"
#include "train/starting_point.h"
#include "watch/watch_server.h"

namespace myxtts {
namespace {

// Of several stages each, and of several ranks in this process the first.
std::vector<RunConfig> settings_to_check(const EffectiveConfig& settings) {
  const auto& stages = settings.values.train.stages;
  if (!stages) return {without_auto(settings_of_first_rank(settings.values))};
  std::vector<RunConfig> parts;
  for (const ModelPart stage : *stages) parts.push_back(settings_of_part(settings, stage).values);
  return parts;
}

int check_only(const EffectiveConfig& settings) {
  const Interruption interruption;
  const auto& stages = settings.values.train.stages;
  std::vector<RunFacts> parts =
      gather_run_facts(settings_to_check(settings), ranks_on_host(settings.values));
  stop_if_interrupted();
  parts.front().run_fault = fault_of_run_directory(settings);
  parts.front().judge_fault = fault_of_judge(settings.values);
  for (const std::string& line : settled_rates(settings)) print(line + "\n");
  bool passed = true;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    add_faults_of_settings(settings, parts[index]);
    parts[index].batch_was_typed =
        settings.origin_of("train.batch_size").kind == Origin::Kind::Flag;
    const Checks checks = check_run(parts[index]);
    if (stages) {
      print(fmt::format("{}Stage {} of {}: {}\n\n", index == 0 ? "" : "\n", index + 1, parts.size(),
                        name_of((*stages)[index])));
    }
    print(with_origins(settings, describe(parts[index], checks)));
    passed = passed && all_passed(checks);
  }
  if (stages && !passed) print("\nThe stages would not run: of one above a check failed.\n");
  if (settings.values.devices.mode == Mode::Auto) {
    print("--mode auto measures this placement and others when the run starts.\n");
  }
  return passed ? 0 : 1;
}

[[noreturn]] void refuse_without_corpus(const RunDirectoryConfig& run) {
  if (!run.resume) {
    throw ConfigError("There is nothing to train on; name a corpus with --train-data DIR.");
  }
  const std::filesystem::path file = run.checkpoint_dir / "config.yaml";
  if (std::filesystem::exists(file)) {
    throw ConfigError(
        fmt::format("{} names no corpus to go on with; give --train-data DIR.", file.string()));
  }
  throw ConfigError(fmt::format(
      "--resume goes on with the run of --checkpoint-dir, and there is no {}; to begin it, name a "
      "corpus with --train-data DIR.",
      file.string()));
}

// Before a run directory is made.
void check_inputs(const RunConfig& config) {
  if (config.data.train_data.empty()) refuse_without_corpus(config.run);
  check_corpora(config.data);
  const std::vector<ModelPart> parts =
      config.train.stages.value_or(std::vector{config.train.stage});
  const bool tells_apart = std::ranges::count(parts, ModelPart::Speaker) > 0;
  if (tells_apart && listed_speakers(config.data) == 1) throw ConfigError(kOneSpeaker);
  check_judge(config);
}

// With --gpus: as many processes as GPUs, which get the same command. What one of them could not
// have is said here, once.
int train_in_processes(const RunConfig& config) {
  check_inputs(config);
  const auto planned = plan_ranks(within_corpora(config), sizes_of_run(config));
  return launch_ranks(static_cast<int>(planned.size()), own_arguments());
}

// All stages before the first is opened: afterwards other GPUs are out of sight.
std::vector<DevicePlan> plan_parts(const PartChain& chain) {
  const ModelConfig sizes = sizes_of_run(chain.settings_of(0).values);
  std::vector<DevicePlan> plans;
  for (std::size_t index = 0; index < chain.size(); ++index) {
    plans.push_back(plan_run(within_corpora(chain.settings_of(index).values), sizes));
  }
  return plans;
}

// When --max-minutes, counted from now, are over; nothing: they were not asked for.
std::optional<Clock::Time> deadline_of(const TrainConfig& train) {
  if (!train.max_minutes) return std::nullopt;
  using Minutes = std::chrono::duration<double, std::ratio<60>>;
  return system_clock().now() +
         std::chrono::duration_cast<Clock::Time::duration>(Minutes(*train.max_minutes));
}

// What is once for all run directories that a command trains into.
struct Surroundings {
  const RankStart& ranks;
  const Interruption& interruption;
  RunOptions options = {};
};

// For whoever watches the run; a disk that refuses it says so soon enough.
void list_suspicious(const Corpus& corpus, const std::filesystem::path& file) {
  try {
    write_file_atomically(file, bytes_of(json_lines(find_suspicious(corpus))));
  } catch (const DataError& error) {
    log_debug("train", "{}", error.what());
  }
}

struct Outcome {
  Ending ending = Ending::Done;
  int signal = 0;  // that stopped it
  TrainingState state = {};
  ManifestEntry example = {};  // empty where no corpus was looked at
};

// One run directory, from its starting point to its last checkpoint. `plans` are those of the ranks
// of this process.
Outcome train_into(const RunDirectory& run, EffectiveConfig settings, std::vector<DevicePlan> plans,
                   const Surroundings& around) {
  const RankStart& ranks = around.ranks;
  const RunDirectoryConfig& kept = settings.values.run;
  CheckpointStore checkpoints(run.path(), kept.keep_last, kept.keep_best,
                              best_by_of(settings.values));
  const auto resumed = ranks.starting_point(run, checkpoints, settings.values);
  if (ranks.leads()) write_settings(run.path(), settings);

  if (settings.values.devices.mode == Mode::Auto) {
    const auto fastest =
        fastest_placement(settings, plans.front(), run, resumed, around.interruption);
    if (!fastest) return {.ending = Ending::Stopped, .signal = around.interruption.signal()};
    settings = *fastest;
    plans = ranks.plan(within_corpora(settings.values));
  }
  plans = open_and_log(std::move(plans));
  if (ranks.leads()) write_plan(plans.front(), run.path());

  stop_if_interrupted();
  const World& world = ranks.team().world();
  RunInputs inputs(settings, plans, run.path(), resumed,
                   {.rank = world.rank, .world_size = world.size});  // model, corpus, devices
  if (ranks.leads()) list_suspicious(inputs.data().corpus(), run / "suspicious.jsonl");
  RankThreads training(inputs, checkpoints, around.options, ranks.team());
  const InterruptionWatch watch([&training] { training.stop(); });
  const Ending ending = training.train();
  if (ranks.leads()) {
    print(describe(training.summary()));
    log_debug("train", "{}", plumbing(training.summary()));
  }
  return {.ending = ending,
          .signal = around.interruption.signal(),
          .state = training.state(),
          .example = example_of(inputs.data().corpus())};
}

const char* state_of(Ending ending) {
  switch (ending) {
    case Ending::Done:
      return "finished";
    case Ending::Stopped:
      return "stopped";
    case Ending::OutOfTime:
      return "out-of-time";
  }
  return "stopped";
}

// The same, with a record of it in the run directory.
Outcome train_on_record(const RunDirectory& run, EffectiveConfig settings,
                        std::vector<DevicePlan> plans, Surroundings around) {
  if (!around.ranks.leads()) return train_into(run, std::move(settings), std::move(plans), around);
  RunRecord record(run.path(), settings.values.train.stage, MYXTTS_VERSION);
  around.options.record = &record;
  try {
    const Outcome outcome = train_into(run, std::move(settings), std::move(plans), around);
    record.end(state_of(outcome.ending));
    return outcome;
  } catch (const Interrupted&) {
    record.end(state_of(Ending::Stopped));
    throw;
  } catch (const std::exception& error) {
    record.end("failed", one_line(error.what()));
    throw;
  }
}

// The stages of --stages one after another, each in a folder of its own and from the model of the
// one before; those that are finished are left out.
Outcome train_parts(const RunDirectory& run, const EffectiveConfig& settings, Surroundings around) {
  PartChain chain(settings, run.path());
  write_settings(run.path(), settings);
  chain.begin();
  if (!chain.next()) {
    print(chain.summary() + chain.how_to_go_on());
    return {.example = first_listed(settings.values.data)};
  }
  const std::vector<DevicePlan> plans = plan_parts(chain);
  Outcome outcome;
  for (auto next = chain.next(); next; next = chain.next()) {
    const auto& deadline = around.options.deadline;
    if (deadline && system_clock().now() >= *deadline) {
      return {.ending = Ending::OutOfTime, .state = outcome.state};
    }
    log_info("train", "{}", chain.opening(*next));
    const RunDirectory own(chain.folder(*next));
    around.options.title = chain.title(*next);
    outcome = train_on_record(own, chain.settings_of(*next), {plans[*next]}, around);
    chain.show_models(*next);
    if (outcome.ending != Ending::Done) return outcome;
    const TrainingState& state = outcome.state;
    chain.finish(*next, state.step, state.seconds, state.best_validation_loss);
    if (outcome.signal != 0 && chain.next()) {  // it came while the last checkpoint was written
      outcome.ending = Ending::Stopped;
      return outcome;
    }
  }
  print(chain.summary());
  return outcome;
}

// Says how it ended and what to type next. The exit code.
int report(const Outcome& outcome, const RunConfig& config, const RunDirectory& run,
           const RankStart& ranks) {
  const std::string resume = ranks.started(resume_command(run.path()));
  const std::int64_t step = outcome.state.step;
  switch (outcome.ending) {
    case Ending::Stopped:
      log_info("train", "interrupted at step {}; to continue, type: {}", step, resume);
      // Without a signal another rank was interrupted.
      return kExitBySignal + (outcome.signal != 0 ? outcome.signal : SIGTERM);
    case Ending::OutOfTime:
      log_info("train", "the minutes of --max-minutes are over at step {}; to continue, type: {}",
               step, resume);
      return 0;
    case Ending::Done:
      break;
  }
  if (!ranks.leads()) return 0;
  const auto latest = run / "latest";
  const ModelConfig trained = parse_model_config(read_config_text(latest), latest.string());
  print(next_commands(config, run.path(), outcome.example,
                      {.untrained = untrained_parts(latest),
                       .size = size_name(trained.gpt),
                       .can_be_exported = coqui_can_hold(trained)}));
  return 0;
}

// What is allowed and seldom meant, before the run begins.
void warn(const EffectiveConfig& settings) {
  for (const std::string& caution : cautions(settings)) {
    log_warning("train", "{}", with_origins(settings, caution));
  }
  const TrainConfig& train = settings.values.train;
  if (train.init) {
    warn_of_untrained_parts(*train.init, train.stages.value_or(std::vector{train.stage}));
  }
  const std::string small_disk = caution_of_disk(settings_to_check(settings));
  if (!small_disk.empty()) log_warning("train", "{}", small_disk);
}

// Whether a step may have been taken: from then on there is something to read in the folder.
bool has_metrics(const std::filesystem::path& run) {
  std::error_code failed;
  if (std::filesystem::exists(run / "metrics.jsonl", failed)) return true;
  const auto entries = std::filesystem::directory_iterator(run, failed);
  return std::any_of(begin(entries), end(entries), [](const auto& part) {
    std::error_code missing;
    return std::filesystem::exists(part.path() / "metrics.jsonl", missing);
  });
}

// Trains into the run directory, and leaves nothing of a run that could not begin.
int train_or_discard(const RunDirectory& run, const EffectiveConfig& settings,
                     const std::vector<DevicePlan>& plans, const Surroundings& around) {
  try {
    const Outcome outcome = settings.values.train.stages
                                ? train_parts(run, settings, around)
                                : train_on_record(run, settings, plans, around);
    return report(outcome, settings.values, run, around.ranks);
  } catch (const RefusedCorpusError& refused) {
    if (!run.discard_if_new(refused.list) || refused.list.empty()) throw;
    throw DataError(fmt::format("{} That list is all that is kept of the run.", refused.what()));
  } catch (const Error&) {
    // Those of rank 0, whichever rank this is.
    if (!has_metrics(settings.values.run.checkpoint_dir)) run.discard_if_new();
    throw;
  } catch (const Interrupted& interrupted) {
    if (run.discard_if_new()) throw;
    log_info("train", "interrupted before training went on; to continue, type: {}",
             around.options.resume);
    return kExitBySignal + interrupted.signal;
  }
}

// With --watch: shown while the run trains. Null: nobody asked for it.
std::unique_ptr<WatchBeside> page_of_run(const RunDirectoryConfig& config,
                                         const std::filesystem::path& run, const RankStart& ranks) {
  if (!config.watch || !ranks.leads()) return nullptr;
  const auto port = config.watch_port ? std::optional(static_cast<int>(*config.watch_port))
                                      : std::optional<int>();
  auto page = std::make_unique<WatchBeside>(run, port, MYXTTS_VERSION);
  log_info("train", "watch the run at {}", page->address());
  return page;
}

int train(const EffectiveConfig& settings, RankStart& ranks) {
  const RunConfig& config = settings.values;
  const bool has_stages = config.train.stages.has_value();
  const std::optional<Clock::Time> deadline = deadline_of(config.train);
  std::vector<DevicePlan> plans;  // before anything is written
  if (!has_stages) plans = ranks.plan(within_corpora(config));
  check_inputs(config);
  if (!has_stages) ranks.join(plans.front());

  return ranks.share_failures([&] {
    const Interruption interruption;
    const RunDirectory run(ranks.folder_of(config.run.checkpoint_dir));
    add_log_file(run / "log.txt");
    warn(settings);
    say(settled_rates(settings));
    const auto page = page_of_run(config.run, run.path(), ranks);
    const std::string resume = ranks.started(resume_command(run.path()));
    return train_or_discard(run, settings, plans,
                            {.ranks = ranks,
                             .interruption = interruption,
                             .options = {.deadline = deadline, .resume = resume}});
  });
}

// Before anything is planned or read.
void check_outputs(const RunConfig& config) {
  require_output("--checkpoint-dir", config.run.checkpoint_dir, Output::Folder);
  check_files_beside(config);
}

// A launcher says how many ranks there are, whatever a run that goes on had in its process.
void leave_ranks_to_launcher(EffectiveConfig& settings) {
  const bool was_typed = settings.origin_of("parallel.ranks").kind == Origin::Kind::Flag;
  if (!settings.values.run.resume || was_typed || !world_of(process_environment())) return;
  settings.values.parallel.ranks.reset();
}

int train_or_check(EffectiveConfig settings, bool dry_run) {
  leave_ranks_to_launcher(settings);
  const RunConfig& config = settings.values;
  require_resumed(settings);
  if (dry_run) return check_only(settings);
  check_outputs(config);
  RankStart ranks(config);  // from here on one rank speaks for all
  find_starting_model(settings.values);
  check_before_run(settings);
  // Ctrl-C ends `| tee log` too, and what is written afterwards must not end us before we have
  // saved.
  std::signal(SIGPIPE, SIG_IGN);
  if (ranks.starts_processes()) return train_in_processes(config);
  if (config.run.trace) start_trace(ranks.own_file(*config.run.trace));
  try {
    const int result = train(settings, ranks);
    finish_trace();
    return result;
  } catch (const std::exception& error) {
    log_to_files(LogLevel::Error, error.what());  // main.cpp shows it to the person
    finish_trace();
    throw;
  }
}

std::function<int()> declare_train(CLI::App& app) {
  const auto flags = std::make_shared<ConfigFlags>(app);
  const CLI::Option* dry_run =
      app.add_flag("--dry-run")
          ->description(
              "Checks devices, model, corpus, memory and disk, prints what would be done, and ends "
              "with 0 if the run can start, with 1 if not.")
          ->group("Run");
  return [flags, dry_run] {
    const EffectiveConfig settings = make_effective_config(flags->sources());
    return with_named_origins(settings,
                              [&] { return train_or_check(settings, dry_run->count() > 0); });
  };
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
              "myxtts train --resume runs/voice",
              "myxtts train --stages dvae,gpt,decoder --train-data corpora/anna --checkpoint-dir "
              "runs/anna",
              "myxtts train --mode auto --train-data corpora/ljspeech",
              "myxtts train --gpus 0,1 --train-data corpora/ljspeech --batch-size 16",
              "myxtts train --dry-run --config run.yaml --data-gpu 1 --model-gpu 0"}};
}

}  // namespace myxtts
