// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/command.h"
#include "cli/config_flags.h"
#include "config/effective_config.h"
#include "diagnose/validate/validation_report.h"
#include "session/console.h"
#include "session/plan_run.h"
#include "session/run_checks.h"

namespace myxtts {
namespace {

// What a placement is made of, and the network that is tried on it.
const std::vector<std::string_view> kFields = {"data.data_gpu",
                                               "data.model_gpu",
                                               "data.num_workers",
                                               "data.prefetch_buffer_size",
                                               "devices.device",
                                               "devices.mode",
                                               "devices.split_gpu",
                                               "devices.transfer_path",
                                               "devices.enable_memory_isolation",
                                               "devices.data_gpu_memory",
                                               "devices.model_gpu_memory",
                                               "devices.data_threads",
                                               "devices.model_threads",
                                               "train.model_size",
                                               "train.batch_size",
                                               "train.precision",
                                               "train.enable_static_shapes"};

int validate(const EffectiveConfig& given, bool json) {
  if (given.values.devices.mode == Mode::Auto) {
    throw ConfigError(
        "validate checks one placement, and --mode auto stands for all of them; name one, as in "
        "--mode single.");
  }
  const EffectiveConfig settings = with_validation_defaults(given);
  const DevicePlan plan =
      plan_and_open_devices(settings.values, model_preset(settings.values.train.model_size));
  const std::vector<StepResult> steps = validate_run(settings, plan);
  print(json ? validation_json(MYXTTS_VERSION, plan, steps) : validation_text(plan, steps));
  return all_passed(steps) ? 0 : 1;
}

std::function<int()> declare_validate(CLI::App& app) {
  const auto flags = std::make_shared<ConfigFlags>(app, kFields);
  const CLI::Option* json = app.add_flag("--json")->description("Prints the table as JSON.");
  return [flags, json] {
    const EffectiveConfig settings = make_effective_config(flags->sources());
    return with_named_origins(settings, [&] { return validate(settings, json->count() > 0); });
  };
}

}  // namespace

Command validate_command() {
  return {.name = "validate",
          .group = "Setting up",
          .summary =
              "Tries a placement in five steps, each of which really checks, and says what "
              "failed and why",
          .declare = declare_validate,
          .examples = {"myxtts validate", "myxtts validate --data-gpu 0 --model-gpu 1",
                       "myxtts validate --split-gpu 0 --json"}};
}

}  // namespace myxtts
