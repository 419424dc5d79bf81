// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/field.h"
#include "config/run_config.h"

namespace myxtts {

// Where a value came from, as `myxtts config` shows it.
struct Origin {
  enum class Kind { Default, Preset, File, Flag };
  Kind kind = Kind::Default;
  std::string name = {};  // of the preset, the file or the flag; of a default: why this one
  int line = 0;           // of the file, from 1
  // The key there, where it is not the setting's own; of a flag the value as it was typed.
  std::string as = {};
};

// "default", "preset two-gpu", "run.yaml:3", "run.yaml:3 as training.learning_rate" or "flag
// --seed"; of a default that depends on something "default: the part starts from nothing".
std::string describe(const Origin& origin);

// One value that somebody wrote.
struct Setting {
  const Field* field;
  Scalar value;
  Origin origin;
  bool is_first = true;                 // of a list: what weaker sources said is forgotten
  std::optional<ModelPart> stage = {};  // for this stage alone; nothing: for all
};

// What a preset sets. Throws ConfigError for an unknown name.
std::vector<Setting> read_preset(const std::string& name);
std::vector<std::string> preset_names();

// What a YAML file sets, in its order. Throws ConfigError, naming the file and the line, for
// anything but one map of known keys. Keys of the predecessor are read as ours or left alone, which
// costs a few lines in the log.
std::vector<Setting> read_config_file(const std::filesystem::path& path);

// The file that --config names: where there is none of that name, the recipe of it, which is said.
std::filesystem::path file_or_recipe(const std::filesystem::path& named);

// A recipe of configs/ as --config takes it in this working directory: of the checkout that the
// program was built in, or of what was installed with it. Empty where neither is there.
std::string find_recipe(const std::string& name);

// What a person asked for, from the weakest to the strongest.
struct ConfigSources {
  std::optional<std::string> preset = {};
  std::optional<std::filesystem::path> file = {};
  std::vector<Setting> flags = {};
  // Whether this part of the model at `init` is as a new model has it; null: nobody can look.
  std::function<bool(const std::filesystem::path& init, ModelPart part)> is_untrained = {};
};

// The settings of a run, each with where it came from.
struct EffectiveConfig {
  RunConfig values;
  std::vector<Origin> origins;  // in the order of all_fields()
  // What the section stages of a file says, in its order; flags win over it, so that what a flag
  // set is not among them.
  std::vector<Setting> stage_settings = {};

  const Origin& origin_of(std::string_view key) const;
};

// Sets one value and remembers where it came from. Throws ConfigError when it is not allowed.
void apply_setting(const Setting& setting, EffectiveConfig& config);

// Presets, then the file, then flags; where one stage is trained, what the file says of that stage
// alone is part of it. Where --resume continues a run and no file is named, the file is that run's
// config.yaml (config/resumed_run.h), and what flags change of it is said. A learning rate that
// nobody chose is settled: it follows from what the part starts from, and a resumed run keeps its
// own. Throws ConfigError when a value is not allowed or two values contradict each other.
EffectiveConfig make_effective_config(const ConfigSources& sources);

// "lr 0.0002 for gpt: the part starts from nothing", for each part whose rate nobody chose.
std::vector<std::string> settled_rates(const EffectiveConfig& config);

// `message` with the origin behind each setting that it names by a flag nobody typed:
// "--mode single (preset one-gpu) needs a GPU". What was typed is named as it was: "--device gpu",
// and to leave out what a preset sets is to leave out the preset. What is to be typed, such as a
// command, stays as it is.
std::string with_origins(const EffectiveConfig& config, std::string message);

// Throws ConfigError when settings that are fine alone cannot be meant together.
void check_consistency(const EffectiveConfig& config);

// The same of settings that concern several stages.
void check_chain(const EffectiveConfig& config);

// Sentences about settings of a training run that are allowed and seldom meant.
std::vector<std::string> cautions(const EffectiveConfig& config);

// A setting that means little in a run of that length.
struct LengthCaution {
  std::string name;     // "warm-up"
  std::string finding;  // "--warmup-steps 1000 is most of the run's 200 steps"
  std::string remedy;   // "Give --warmup-steps 20"
};

// Said of a run without clips to measure on.
inline constexpr const char* kNothingMeasured =
    "NO CLIPS ARE KEPT BACK TO MEASURE ON, so that nothing says when the model has learnt enough, "
    "and "
    "there is no best one. Give --val-data DIR, or a corpus of two clips and more with "
    "--val-fraction "
    "0.05";

// Warm-up, measuring and saving, held against the steps of a run.
std::vector<LengthCaution> cautions_of_length(const RunConfig& config, std::int64_t steps);

// YAML with the origin of each value behind it. read_config_file() gives the same settings back.
std::string print_config(const EffectiveConfig& config);

// YAML with every default, and above each setting its sentence, what is allowed and its flag.
std::string print_reference();

// The same as Markdown tables, one for each section: the body of docs/reference/configuration.md.
std::string print_markdown();

// YAML with those settings alone that are not the default. read_config_file() gives them back.
std::string print_differences(const RunConfig& config);

}  // namespace myxtts
