// SPDX-License-Identifier: Apache-2.0
#include "cli/auto_mode.h"

#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "cli/compare_placements.h"
#include "cli/report.h"
#include "cli/run_outline.h"
#include "device/system_probe.h"
#include "diagnose/auto/choice_file.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

// RUN/calibration while placements are measured.
class CalibrationFolder {
 public:
  explicit CalibrationFolder(const RunDirectory& run) : path_(run / "calibration") {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  CalibrationFolder(const CalibrationFolder&) = delete;
  CalibrationFolder& operator=(const CalibrationFolder&) = delete;
  ~CalibrationFolder() {
    std::error_code ignored;  // it is in nobody's way
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  const fs::path path_;
};

std::set<fs::path> features_in(const fs::path& folder) {
  std::set<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("features-")) found.insert(entry.path());
  }
  return found;
}

EffectiveConfig with_placement(EffectiveConfig settings, const Placement& placement,
                               const DevicePlan& usual) {
  settings.values = placed(settings.values, placement, usual);
  return settings;
}

// Whether the choice of an earlier start of this run still holds; else why not is said.
bool still_holds(const std::optional<AutoChoice>& kept, const AutoConditions& now) {
  if (!kept) return false;
  if (const std::string change = what_changed(kept->conditions, now); !change.empty()) {
    log_info("auto", "placements are measured again, as something has changed: {}", change);
    return false;
  }
  log_info("auto", "{} was the fastest when it was measured for this run, and nothing has changed",
           name_of(kept->placement));
  return true;
}

void forget_features(const fs::path& folder, const std::set<fs::path>& before) {
  for (const fs::path& features : features_in(folder)) {
    if (!before.contains(features)) fs::remove_all(features);
  }
}

}  // namespace

std::optional<EffectiveConfig> settle_placement(const EffectiveConfig& settings,
                                                const DevicePlan& usual, const RunDirectory& run,
                                                const std::optional<Checkpoint>& resumed,
                                                const Interruption& interruption) {
  const CalibrationFolder folder(run);
  const RunOutline outline =
      outline_run(settings, resumed ? std::optional(resumed->folder) : std::nullopt,
                  {.scratch = folder.path(), .indexes = run.path()});
  SystemProbe probe;
  const Machine machine = discover_machine(probe);
  const AutoConditions conditions = auto_conditions(settings.values, machine, outline.corpus);
  const auto kept = read_choice(run.path());
  if (still_holds(kept, conditions)) return with_placement(settings, kept->placement, usual);
  const auto before = kept ? std::optional(kept->placement) : std::nullopt;

  const auto features_before = features_in(run.path());
  const PlacementAnswer answer =
      compare_placements({.settings = outline.settings,
                          .machine = machine,
                          .usual = usual,
                          .folder = folder.path(),
                          .cache = run.path(),
                          .first_epoch_share = outline.first_epoch_share(usual),
                          .may_cache = may_cache(settings, before)},
                         interruption);
  if (!answer.fastest || !answer.fastest->cached || interruption.came()) {
    forget_features(run.path(), features_before);
  }
  if (interruption.came()) return std::nullopt;
  print(describe(answer.table, answer.fastest ? &*answer.fastest : nullptr));
  if (!answer.fastest) {
    throw DeviceError(
        "No placement could be measured, for the reasons in the table; name one to see it fail by "
        "itself, as in --mode single or --device cpu.");
  }
  write_choice({.conditions = conditions, .table = answer.table, .placement = *answer.fastest},
               run.path());
  return with_placement(settings, *answer.fastest, usual);
}

}  // namespace myxtts
