// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "device/machine.h"
#include "diagnose/auto/placement.h"

namespace myxtts {

// From what `myxtts profile --json` writes. Throws DataError when it is something else, or when
// nothing was measured.
PlacementReading reading_from_json(const std::string& text);

// From metrics.jsonl of a run: the line of `step`, which covers the steps since the line before.
// The time of a step is not in it. Throws DataError as above.
PlacementReading reading_from_metrics(const std::string& lines, std::int64_t step);

// What the speed of placements depends on: values by section ("machine", "corpus", "settings") and
// name.
using AutoConditions = std::map<std::string, std::map<std::string, std::string>>;

// `corpus` is the fingerprint of what is trained on.
AutoConditions auto_conditions(const RunConfig& config, const Machine& machine,
                               const std::string& corpus);

// The first thing that differs, as a sentence: "settings: train.batch_size was 8 and is 16". Empty
// when nothing does.
std::string what_changed(const AutoConditions& before, const AutoConditions& now);

// What --mode auto has decided for a run: RUN/auto.json.
struct AutoChoice {
  AutoConditions conditions = {};
  std::vector<MeasuredPlacement> table = {};
  Placement placement = {};
};

// The table and, under "choice", the placement taken; null where nothing could be measured.
std::string to_json(const std::vector<MeasuredPlacement>& table, const Placement* chosen);

// Throws DataError.
void write_choice(const AutoChoice& choice, const std::filesystem::path& run_directory);

// Nothing when there is none, or, with a warning, none that can be read. The table is not read.
std::optional<AutoChoice> read_choice(const std::filesystem::path& run_directory);

}  // namespace myxtts
