// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/interruption.h"
#include "base/log.h"
#include "base/trace.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "config/effective_config.h"
#include "config/field.h"
#include "config/run_config.h"
#include "data/generated_corpus.h"
#include "device/machine.h"
#include "device/plan/device_plan.h"
#include "diagnose/auto/choice_file.h"
#include "diagnose/corpus/corpus_survey.h"
#include "diagnose/profile/profile.h"
#include "session/console.h"
#include "session/plan_run.h"
#include "session/trial/auto_placement.h"
#include "session/trial/trial.h"

namespace myxtts {
namespace {

constexpr std::int64_t kFewest = 64;  // clips
constexpr std::int64_t kMost = 512;

// What a profile is measured on: the corpora that were named, with their indexes in the user's own
// folder, or one that is made in `generated`, which is gone with it. Throws DataError, ConfigError.
DataConfig corpus_to_profile(DataConfig data, const DevicePlan& plan,
                             std::optional<ScratchFolder>& generated) {
  if (!data.train_data.empty()) {
    // A cache of features belongs where the person wants it, an index where it is found again.
    if (!data.cache_dataset) data.cache_dir = index_folder(data);
    return data;
  }
  generated.emplace("corpus");
  const std::int64_t clips = std::clamp(8 * plan.batch_size, kFewest, kMost);
  log_info("profile",
           "there is no --train-data, so {} clips of 1.5 to 11 s are generated; real ones may "
           "decode more slowly",
           clips);
  generate_corpus(generated->path(), clips);
  data.train_data = {{.path = generated->path()}};
  data.val_data.clear();
  data.val_fraction = 0;
  return data;
}

std::string folder_names(const std::vector<CorpusSource>& corpora) {
  std::string names;
  for (const CorpusSource& source : corpora) {
    names += (names.empty() ? "" : ", ") + source.path.string();
  }
  return names;
}

// Throws ConfigError for settings that a trial cannot have.
void check_can_be_profiled(const RunConfig& config) {
  if (config.train.stage != ModelPart::Gpt) {
    throw ConfigError("profile measures the stage gpt; leave --stage out.");
  }
  if (config.parallel.ranks || config.devices.gpus) {
    throw ConfigError(fmt::format(
        "profile looks into a training by one rank; leave {} out. On the CPU --compare measures "
        "several ranks beside other placements.",
        config.parallel.ranks ? "--ranks" : "--gpus"));
  }
}

// The settings with every knob turned that the findings name.
EffectiveConfig with_knobs(EffectiveConfig settings, const Profile& profile) {
  const auto fields = all_fields();
  for (const Finding& finding : profile.findings) {
    if (!finding.knob) continue;
    // A budget of tokens and a number of clips exclude each other: the first one named is kept.
    const bool is_clips = finding.knob->key == "train.batch_size";
    if (is_clips && settings.values.train.batch_tokens) continue;
    const Field* field = find_field(finding.knob->key);
    MYXTTS_CHECK(field != nullptr && field->assign({.text = finding.knob->value}, settings.values),
                 "{} cannot be {}", finding.knob->key, finding.knob->value);
    settings.origins.at(static_cast<std::size_t>(field - fields.data())) = {
        .kind = Origin::Kind::Flag, .name = "--apply of profile"};
    if (finding.knob->key == "train.batch_tokens") settings.values.train.batch_size.reset();
  }
  check_consistency(settings);
  return settings;
}

struct ProfileArguments {
  explicit ProfileArguments(CLI::App& app) : flags(app) {}

  ConfigFlags flags;
  std::int64_t num_steps = 100;
  std::int64_t warm_up_steps = 10;
  std::int64_t resident_steps = 20;
  bool compare = false;
  std::optional<std::string> json;
  std::optional<std::filesystem::path> html;
  std::optional<std::filesystem::path> apply;
  CLI::Option* steps_option = nullptr;
  std::vector<const CLI::Option*> of_one_placement = {};  // what --compare does not read
};

void write(const std::string& place, const std::string& text) {
  if (place == "-") {
    print(text);
  } else {
    write_file_atomically(place, bytes_of(text));
  }
}

void refuse_a_placement(const RunConfig& config) {
  const DevicesConfig& devices = config.devices;
  const char* given = devices.split_gpu                                 ? "--split-gpu"
                      : config.data.data_gpu                            ? "--data-gpu"
                      : devices.mode.value_or(Mode::Auto) != Mode::Auto ? "--mode"
                                                                        : nullptr;
  if (given == nullptr) return;
  throw ConfigError(fmt::format(
      "--compare measures every placement, so {} names one too many; leave {} out, or --compare.",
      given, given));
}

// `myxtts profile --compare`: the table of --mode auto, and no training. Gives the exit code: 0, or
// 1 where nothing could be measured. Throws ConfigError for settings that name a placement.
int compare(EffectiveConfig settings, const ProfileArguments& arguments) {
  refuse_a_placement(settings.values);
  settings.values = without_auto(settings.values);
  const DevicePlan usual = plan_run(settings.values, sizes_to_train(settings.values.train));
  std::optional<ScratchFolder> generated;
  settings.values.data = corpus_to_profile(settings.values.data, usual, generated);
  const ScratchFolder folder("compare");
  const RunOutline outline = outline_run(settings, std::nullopt, folder.path(), folder.path());
  SystemProbe probe;
  const Machine machine = discover_machine(probe);
  const bool asked = arguments.steps_option->count() > 0;
  const auto steps = asked ? std::optional(arguments.num_steps) : std::nullopt;
  const Interruption interruption;
  const std::vector<MeasuredPlacement> table =
      compare_placements({.settings = outline.settings,
                          .machine = machine,
                          .usual = usual,
                          .folder = folder.path(),
                          .cache = folder.path(),
                          .first_epoch_share = outline.first_epoch_share(usual),
                          .may_cache = may_cache(settings, std::nullopt),
                          .steps = steps},
                         interruption);
  const Placement* const fastest = fastest_of(table, usual);
  if (arguments.json != "-") print(describe(table, fastest, "best"));
  if (arguments.json) write(*arguments.json, to_json(table, fastest));
  if (interruption.came()) return kExitBySignal + interruption.signal();
  if (fastest == nullptr) return 1;
  log_info("profile", "to train so, add {} to myxtts train, or --mode auto to have it measured",
           flags_of(*fastest));
  return 0;
}

// Everything that was asked for, of what was measured with these settings.
void print_profile(const ProfileArguments& arguments, const EffectiveConfig& settings,
                   const Profile& profile) {
  if (arguments.json != "-") print(describe(profile));
  if (arguments.json) write(*arguments.json, to_json(profile));
  if (arguments.html) write_file_atomically(*arguments.html, bytes_of(to_html(profile)));
  if (!arguments.apply) return;
  write_file_atomically(*arguments.apply, bytes_of(print_config(with_knobs(settings, profile))));
  log_info("profile", "myxtts train --config {} trains with what is recommended",
           arguments.apply->string());
}

void check_comparison(const ProfileArguments& arguments, const EffectiveConfig& settings) {
  std::string given;
  if (settings.values.run.trace && settings.origin_of("run.trace").kind == Origin::Kind::Flag) {
    given = "--trace";
  }
  for (const CLI::Option* option : arguments.of_one_placement) {
    if (option->count() > 0) given = option->get_name();
  }
  if (given.empty()) return;
  throw ConfigError(fmt::format(
      "--compare measures every placement and {} belongs to the profile of one; leave {} out, or "
      "--compare.",
      given, given));
}

void check_outputs(const ProfileArguments& arguments, const RunConfig& config) {
  if (arguments.json && *arguments.json != "-") {
    require_output("--json", *arguments.json, Output::File);
  }
  if (arguments.html) require_output("--html", *arguments.html, Output::File);
  if (arguments.apply) require_output("--apply", *arguments.apply, Output::File);
  if (config.run.trace) require_output("--trace", *config.run.trace, Output::GrowingFile);
  if (config.data.cache_dir) require_output("--cache-dir", *config.data.cache_dir, Output::Folder);
}

int profile(const ProfileArguments& arguments, const EffectiveConfig& asked) {
  EffectiveConfig settings = asked;
  check_can_be_profiled(settings.values);
  if (arguments.compare) {
    check_comparison(arguments, settings);
    return compare(settings, arguments);
  }
  const DevicePlan planned = plan_run(settings.values, sizes_to_train(settings.values.train));
  std::optional<ScratchFolder> generated;
  settings.values.data = corpus_to_profile(settings.values.data, planned, generated);

  if (settings.values.run.trace) start_trace(*settings.values.run.trace);
  const Interruption interruption;
  TrialReading reading = run_trial(settings, open_and_log({planned}).front(),
                                   {.warm_up = arguments.warm_up_steps,
                                    .steps = arguments.num_steps,
                                    .resident = arguments.resident_steps},
                                   [&interruption] { return interruption.came(); });
  finish_trace();
  if (reading.step_seconds.empty()) {
    if (interruption.came()) return kExitBySignal + interruption.signal();
    throw DataError("The corpus gave no step to measure; give a larger one with --train-data.");
  }
  ProfileSetup setup = profile_setup(settings, planned);
  setup.warm_up = arguments.warm_up_steps;
  setup.corpus = generated ? "generated" : folder_names(settings.values.data.train_data);
  print_profile(arguments, asked, make_profile(setup, std::move(reading)));
  return interruption.came() ? kExitBySignal + interruption.signal() : 0;
}

int run_profile(const ProfileArguments& arguments) {
  EffectiveConfig asked = make_effective_config(arguments.flags.sources());
  find_starting_model(asked.values);
  check_outputs(arguments, asked.values);
  return with_named_origins(asked, [&] { return profile(arguments, asked); });
}

std::function<int()> declare_profile(CLI::App& app) {
  const auto arguments = std::make_shared<ProfileArguments>(app);
  arguments->steps_option =
      app.add_option("--num-steps", arguments->num_steps, "Steps that are measured. [100]")
          ->check(whole_number_in(2, 1'000'000))
          ->type_name("N")
          ->group("Profile");
  const auto add = [&](const std::string& name, auto& value, const std::string& help) {
    CLI::Option* option = app.add_option(name, value, help)->group("Profile");
    arguments->of_one_placement.push_back(option);
    return option;
  };
  add("--warm-up-steps", arguments->warm_up_steps,
      "Steps before those, which are not counted. [10]")
      ->check(whole_number_in(1, 100'000))
      ->type_name("N");
  add("--resident-steps", arguments->resident_steps,
      "Steps on batches that stay on the device, for the ceiling; 0 leaves them out. [20]")
      ->check(whole_number_in(0, 100'000))
      ->type_name("N");
  app.add_flag("--compare", arguments->compare,
               "Measures every placement that is possible here, and prints them side by side.")
      ->group("Profile");
  app.add_option("--json", arguments->json,
                 "Writes everything as one JSON object; - for the standard output.")
      ->type_name("FILE|-")
      ->group("Profile");
  add("--html", arguments->html, "Writes a page with the same numbers and pictures.")
      ->type_name("FILE");
  add("--apply", arguments->apply,
      "Writes these settings with the recommended ones changed, for train --config.")
      ->type_name("FILE");
  return [arguments] { return run_profile(*arguments); };
}

}  // namespace

Command profile_command() {
  return {.name = "profile",
          .group = "Training",
          .summary = "Measures a short training and names what holds it up, and the knob to turn",
          .declare = declare_profile,
          .examples = {"myxtts profile --train-data corpora/ljspeech --model-size xtts-v2",
                       "myxtts profile --model-size tiny --device cpu --num-steps 20 --json -",
                       "myxtts profile --compare --train-data corpora/ljspeech"}};
}

}  // namespace myxtts
