// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_compare.h"

#include <filesystem>
#include <utility>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "base/scratch_folder.h"
#include "cli/compare_placements.h"
#include "cli/profile_corpus.h"
#include "cli/report.h"
#include "cli/run_outline.h"
#include "device/system_probe.h"
#include "diagnose/auto/choice_file.h"
#include "session/plan_run.h"

namespace myxtts {
namespace {

constexpr int kExitBySignal = 128;

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

void tell(const CompareArguments& arguments, const PlacementAnswer& answer) {
  const Placement* fastest = answer.fastest ? &*answer.fastest : nullptr;
  if (arguments.json != "-") print(describe(answer.table, fastest, "best"));
  if (arguments.json == "-")
    print(to_json(answer.table, fastest));
  else if (arguments.json) {
    write_file_atomically(*arguments.json, bytes_of(to_json(answer.table, fastest)));
  }
}

}  // namespace

int compare_and_tell(EffectiveConfig settings, const CompareArguments& arguments) {
  refuse_a_placement(settings.values);
  settings.values = without_auto(settings.values);
  const DevicePlan usual = plan_run(settings.values, sizes_to_train(settings.values.train));
  const ProfileCorpus corpus(settings.values.data, usual);
  settings.values.data = corpus.settings();
  const ScratchFolder folder("compare");
  const RunOutline outline =
      outline_run(settings, std::nullopt, {.scratch = folder.path(), .indexes = folder.path()});
  SystemProbe probe;
  const Machine machine = discover_machine(probe);
  const Interruption interruption;
  const PlacementAnswer answer =
      compare_placements({.settings = outline.settings,
                          .machine = machine,
                          .usual = usual,
                          .folder = folder.path(),
                          .cache = folder.path(),
                          .first_epoch_share = outline.first_epoch_share(usual),
                          .may_cache = may_cache(settings, std::nullopt),
                          .steps = arguments.steps},
                         interruption);
  tell(arguments, answer);
  if (interruption.came()) return kExitBySignal + interruption.signal();
  if (!answer.fastest) return 1;
  log_info("profile", "to train so, add {} to myxtts train, or --mode auto to have it measured",
           flags_of(*answer.fastest));
  return 0;
}

}  // namespace myxtts
