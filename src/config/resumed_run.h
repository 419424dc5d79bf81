// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/effective_config.h"

namespace myxtts {

// What --resume means for the other settings: which run goes on, and what it keeps of its own.

// --checkpoint-dir becomes the run that goes on: the one that --resume names (RUN, RUN/latest,
// RUN/config.yaml or a checkpoint in it), or the one that the config file lies in, which may have
// been moved or be named from another working directory. A folder that somebody chose stays, so
// that a new run can begin with the checkpoint of another. Throws DataError where --resume names
// nothing that is there, ConfigError where two runs would mix.
void settle_run_directory(EffectiveConfig& config);

// Throws DataError where --resume names what is not there, ConfigError where it names a folder that
// is neither a run nor a checkpoint, or nothing at all and nobody has said where the run lies.
void require_resumed(const EffectiveConfig& config);

// The runs in a folder and, with two levels, in its folders, as far as a look shows; sorted.
std::vector<std::filesystem::path> runs_in(const std::filesystem::path& folder, int levels);

// What names the run that a folder, which is none itself, was given for: the run it lies in, or
// those that lie in it, as in "give --model runs/voice"; empty: there is none.
std::string flag_of_run_near(std::string_view flag, const std::filesystem::path& folder);

// `model` with `ending` behind its name; for a model inside of a run that of the run, which keeps
// what others put there for its own.
std::filesystem::path name_beside(const std::filesystem::path& model, std::string_view ending);

// Whether a new run in another folder begins with the checkpoint that --resume names.
bool begins_another_run(const RunConfig& values);

// RUN/config.yaml of the run that --resume names, whether it is there or not.
std::filesystem::path own_file_of_resumed(const RunConfig& values);

// What the run that goes on was begun with; empty: a new run, or one without that file. Throws
// ConfigError where the file is damaged.
std::vector<Setting> settings_of_resumed(const RunConfig& values);

// What flags have changed of that: "train.lr is 0.001, was 0.0002; ..."; empty: nothing.
std::string changes_of_resumed(const EffectiveConfig& config, const std::vector<Setting>& own);

// What decides the shape of the network is the run's own where nobody asks for anything else, and
// so are the budgets of the stages that --stage-budget does not name. Throws ConfigError for a
// vocabulary of another size.
void keep_what_is_the_runs(EffectiveConfig& config, const std::vector<Setting>& own);

// The rate of a part as the run was begun with it; nothing: a new run.
std::optional<double> rate_of_resumed(const std::vector<Setting>& own, ModelPart part);

}  // namespace myxtts
