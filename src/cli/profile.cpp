// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/trace.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "cli/interruption.h"
#include "cli/profile_compare.h"
#include "cli/profile_corpus.h"
#include "cli/profile_setup.h"
#include "cli/report.h"
#include "diagnose/profile/profile_text.h"
#include "session/plan_run.h"
#include "session/trial.h"

namespace myxtts {
namespace {

constexpr int kExitBySignal = 128;

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

// Everything that was asked for, of what was measured with these settings.
void tell(const ProfileArguments& arguments, const EffectiveConfig& settings,
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

CompareArguments compare_arguments(const ProfileArguments& arguments) {
  const bool given = arguments.steps_option->count() > 0;
  return {.json = arguments.json,
          .steps = given ? std::optional(arguments.num_steps) : std::nullopt};
}

int run_profile(const ProfileArguments& arguments) {
  const EffectiveConfig asked = make_effective_config(arguments.flags.sources());
  EffectiveConfig settings = asked;
  check_can_be_profiled(settings.values);
  if (arguments.compare) {
    check_comparison(arguments, settings);
    return compare_and_tell(settings, compare_arguments(arguments));
  }
  const DevicePlan planned = plan_run(settings.values, sizes_to_train(settings.values.train));
  const ProfileCorpus corpus(settings.values.data, planned);
  settings.values.data = corpus.settings();

  if (settings.values.run.trace) start_trace(*settings.values.run.trace);
  const Interruption interruption;
  TrialReading reading = run_trial(settings, open_and_tell(planned),
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
  setup.corpus = corpus.name();
  tell(arguments, asked, make_profile(setup, std::move(reading)));
  return interruption.came() ? kExitBySignal + interruption.signal() : 0;
}

std::function<int()> declare_profile(CLI::App& app) {
  const auto arguments = std::make_shared<ProfileArguments>(app);
  arguments->steps_option =
      app.add_option("--num-steps", arguments->num_steps, "Steps that are measured. [100]")
          ->check(CLI::Range(std::int64_t{2}, std::int64_t{1'000'000}))
          ->type_name("N")
          ->group("Profile");
  const auto add = [&](const std::string& name, auto& value, const std::string& help) {
    CLI::Option* option = app.add_option(name, value, help)->group("Profile");
    arguments->of_one_placement.push_back(option);
    return option;
  };
  add("--warm-up-steps", arguments->warm_up_steps,
      "Steps before those, which are not counted. [10]")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}))
      ->type_name("N");
  add("--resident-steps", arguments->resident_steps,
      "Steps on batches that stay on the device, for the ceiling; 0 leaves them out. [20]")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{100'000}))
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
