// SPDX-License-Identifier: Apache-2.0
#include "config/resumed_run.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/message_text.h"
#include "config/part_settings.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "run.checkpoint_dir";
constexpr const char* kSettings = "config.yaml";
constexpr const char* kBudgets = "train.stage_budget";
constexpr const char* kRunsOwn = "it is the run's own";

// Of one stage, or of several in folders of their own.
bool has_begun_run(const fs::path& folder) {
  std::error_code unreadable;
  return fs::is_directory(folder / "checkpoints", unreadable) ||
         fs::exists(folder / "chain.json", unreadable);
}

bool is_run(const fs::path& folder) {
  std::error_code unreadable;
  return has_begun_run(folder) || fs::is_regular_file(folder / kSettings, unreadable);
}

// "." for the folder of a name without one.
fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

struct NamedRun {
  fs::path folder;
  bool newest = false;  // the run itself is named, or its latest checkpoint
};

// The run that a --resume PATH names; nothing: a step, the newest one, or a checkpoint of no run.
std::optional<NamedRun> run_named_by(const std::string& point) {
  if (point == "latest" || parse_integer(point)) return std::nullopt;
  fs::path path = point;
  if (!path.has_filename()) path = path.parent_path();  // "runs/voice/"
  if (is_run(path)) return NamedRun{path, true};
  const fs::path around = folder_of(path);
  if (around.filename() == "checkpoints") return NamedRun{folder_of(around)};
  if (!is_run(around)) return std::nullopt;
  return NamedRun{around, path.filename() == "latest" || path.filename() == kSettings};
}

// Neither a step nor anything that is there.
bool names_nothing(const std::string& point) {
  if (point == "latest" || parse_integer(point) || run_named_by(point)) return false;
  std::error_code unreadable;
  return !fs::exists(fs::symlink_status(point, unreadable));
}

bool are_same(const fs::path& one, const fs::path& other) {
  std::error_code missing;
  return one == other || fs::equivalent(one, other, missing);
}

// A value that somebody wrote. One that a printed file repeats from the defaults is nobody's.
bool was_asked_for(const EffectiveConfig& config, const Field& field) {
  const Origin::Kind kind = config.origin_of(field.key).kind;
  const std::string value = field.value_of(config.values).text;
  return kind == Origin::Kind::Flag ||
         (kind != Origin::Kind::Default && value != field.value_of(RunConfig{}).text &&
          value != kInitRequired);
}

const Setting* setting_of(const std::vector<Setting>& own, std::string_view key) {
  const auto found = std::ranges::find_if(
      own, [key](const Setting& setting) { return !setting.stage && setting.field->key == key; });
  return found == own.end() ? nullptr : &*found;
}

void refuse_other_vocabulary(const EffectiveConfig& config, const Setting& own) {
  const std::string asked = own.field->value_of(config.values).text;
  if (asked == own.value.text) return;
  throw ConfigError(fmt::format(
      "--vocab-pieces {} was asked for, but the vocabulary of the run {} was learnt with {}, and a "
      "run keeps its network; leave --vocab-pieces out, or begin another run with "
      "--checkpoint-dir DIR.",
      asked, config.values.run.checkpoint_dir.string(), own.value.text));
}

void keep_shape(EffectiveConfig& config, const std::vector<Setting>& own) {
  const TrainConfig& train = config.values.train;
  for (const char* key : {"train.model_size", "train.init", "train.vocab", "train.vocab_pieces"}) {
    const Setting* its = setting_of(own, key);
    if (its == nullptr) continue;
    if (was_asked_for(config, *its->field)) {
      if (its->field->key == "train.vocab_pieces") refuse_other_vocabulary(config, *its);
      continue;
    }
    // Who names a vocabulary or a model in place of the other is told so by what compares networks.
    const bool has_other = (its->field->key == "train.init" && train.vocab) ||
                           (its->field->key == "train.vocab" && train.init);
    if (has_other) continue;
    Setting kept = *its;
    kept.origin = {Origin::Kind::Default, kRunsOwn};
    apply_setting(kept, config);
  }
}

void keep_budgets(EffectiveConfig& config, const std::vector<Setting>& own) {
  const Origin::Kind kind = config.origin_of(kBudgets).kind;
  std::optional<PartBudgets>& budgets = config.values.train.stage_budget;
  const Setting* its = setting_of(own, kBudgets);
  const bool asks_for_none = kind == Origin::Kind::Flag && !budgets;
  if (its == nullptr || kind == Origin::Kind::File || asks_for_none) return;
  RunConfig begun;
  its->field->assign(its->value, begun);
  if (!begun.train.stage_budget) return;
  PartBudgets named = budgets.value_or(PartBudgets{});
  named.merge(*begun.train.stage_budget);  // what is named stays
  budgets = std::move(named);
}

}  // namespace

void settle_run_directory(EffectiveConfig& config) {
  RunDirectoryConfig& run = config.values.run;
  if (!run.resume) return;
  Origin& origin =
      config.origins[static_cast<std::size_t>(find_field(kFolder) - all_fields().data())];
  if (origin.kind == Origin::Kind::File && has_begun_run(folder_of(origin.name))) {
    run.checkpoint_dir = folder_of(origin.name);
  }
  const auto named = run_named_by(*run.resume);
  if (!named) return;
  if (origin.kind == Origin::Kind::Default) {
    run.checkpoint_dir = named->folder;
    origin.name = "the run that --resume names";
  } else if (!are_same(named->folder, run.checkpoint_dir)) {
    if (!has_begun_run(run.checkpoint_dir)) return;
    throw ConfigError(fmt::format(
        "--resume {} names the run {}, and --checkpoint-dir {} holds another one: leave "
        "--checkpoint-dir out to continue the first, or give a new folder to begin another with "
        "its checkpoint.",
        *run.resume, named->folder.string(), run.checkpoint_dir.string()));
  }
  if (named->newest) run.resume = "latest";
}

namespace {

[[noreturn]] void refuse_no_run(const std::string& named, const fs::path& folder,
                                const std::string& near) {
  throw ConfigError(fmt::format("--resume {}names no run to go on with, as there is no {}; {}.",
                                named, (folder / kSettings).string(),
                                near.empty() ? "give --resume RUN" : near));
}

// Nobody has said which run is meant.
void refuse_default_folder(const EffectiveConfig& config) {
  const fs::path& folder = config.values.run.checkpoint_dir;
  if (config.origin_of(kFolder).kind != Origin::Kind::Default || is_run(folder)) return;
  refuse_no_run("", folder, flag_of_run_near("--resume", "."));
}

// Of a checkpoint it is no more known here than that it is a model, and of another run nothing.
void require_checkpoint(const fs::path& path) {
  std::error_code unreadable;
  const bool is_of_run = folder_of(path).filename() == "checkpoints";
  if (is_of_run || is_run(path) || fs::exists(path / "config.json", unreadable)) return;
  refuse_no_run(path.string() + " ", path, flag_of_run_near("--resume", path));
}

}  // namespace

void require_resumed(const EffectiveConfig& config) {
  const auto& point = config.values.run.resume;
  if (!point) return;
  if (*point == "latest" || parse_integer(*point)) return refuse_default_folder(config);
  if (!names_nothing(*point)) return require_checkpoint(*point);
  const fs::path near = fs::path("runs") / *point;
  throw DataError(fmt::format(
      "--resume {}: there is no such run or checkpoint; {}.", one_line(*point),
      is_run(near) ? fmt::format("give --resume {}", near.string())
                   : "give the folder of a run, as in --resume runs/voice, or a step of one, as in "
                     "--checkpoint-dir runs/voice --resume 1200"));
}

std::vector<fs::path> runs_in(const fs::path& folder, int levels) {
  constexpr int kMostEntries = 1000;
  std::vector<fs::path> runs;
  std::error_code failed;
  int looked = 0;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    std::error_code unreadable;
    if (++looked > kMostEntries) break;
    if (!entry.is_directory(unreadable) || entry.is_symlink(unreadable)) continue;
    if (has_begun_run(entry.path())) {
      runs.push_back(entry.path().lexically_normal());
    } else if (levels > 1) {
      std::ranges::copy(runs_in(entry.path(), levels - 1), std::back_inserter(runs));
    }
  }
  std::ranges::sort(runs);
  return runs;
}

namespace {

// A chain of stages around a stage comes last.
fs::path run_around(const fs::path& folder) {
  fs::path found;
  fs::path around = folder.lexically_normal();
  if (!around.has_filename()) around = around.parent_path();
  for (int level = 0; level < 3 && around.has_relative_path() && around != "."; ++level) {
    around = folder_of(around);
    if (has_begun_run(around)) found = around;
  }
  return found;
}

}  // namespace

std::string flag_of_run_near(std::string_view flag, const fs::path& folder) {
  constexpr std::size_t kShown = 3;
  std::error_code unreadable;
  if (!fs::is_directory(folder, unreadable)) return {};
  std::vector<fs::path> runs = runs_in(folder, 2);
  const bool lies_in_run = runs.empty();
  if (lies_in_run) runs = {run_around(folder)};
  if (runs.front().empty()) return {};
  std::string text = fmt::format("give {} {}", flag, shell_word(runs.front().string()));
  for (std::size_t other = 1; other < std::min(runs.size(), kShown); ++other) {
    text += fmt::format("{} {}", other == 1 ? " or another run there, such as" : ",",
                        runs[other].string());
  }
  return text;
}

fs::path name_beside(const fs::path& model, std::string_view ending) {
  fs::path plain = model.lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();
  if (const fs::path run = run_around(plain); !run.empty()) plain = run;
  if (plain == ".") plain = "model";
  return plain += ending;
}

bool begins_another_run(const RunConfig& values) {
  const auto named = values.run.resume ? run_named_by(*values.run.resume) : std::nullopt;
  return named && !are_same(named->folder, values.run.checkpoint_dir);
}

fs::path own_file_of_resumed(const RunConfig& values) {
  const auto named = values.run.resume ? run_named_by(*values.run.resume) : std::nullopt;
  return (named ? named->folder : values.run.checkpoint_dir) / kSettings;
}

// A run writes every setting there, so that a file without any is a damaged one.
std::vector<Setting> settings_of_resumed(const RunConfig& values) {
  if (!values.run.resume || names_nothing(*values.run.resume)) return {};
  const fs::path file = own_file_of_resumed(values);
  std::error_code unreadable;
  if (!fs::is_regular_file(file, unreadable)) return {};
  std::string damage = file.string() + " is empty.";
  try {
    std::vector<Setting> settings = read_config_file(file);
    if (!settings.empty()) return settings;
  } catch (const ConfigError& error) {
    damage = error.what();
  }
  throw ConfigError(
      fmt::format("{} The run wrote its settings there: restore the file, or remove it and give "
                  "them as flags, as in --train-data DIR.",
                  damage));
}

void keep_what_is_the_runs(EffectiveConfig& config, const std::vector<Setting>& own) {
  keep_shape(config, own);
  keep_budgets(config, own);
}

namespace {

// The setting as it was written; of a list all of them.
std::string text_of(const Field& field, const RunConfig& values) {
  if (!field.is_list()) return field.value_of(values).text;
  std::string text;
  for (const Scalar& each : field.values_of(values)) text += (text.empty() ? "" : " ") + each.text;
  return text.empty() ? "none" : text;
}

}  // namespace

std::string changes_of_resumed(const EffectiveConfig& config, const std::vector<Setting>& own) {
  if (own.empty()) return {};
  EffectiveConfig begun{.values = {}, .origins = std::vector<Origin>(all_fields().size())};
  for (const Setting& setting : own) {
    if (setting.stage) continue;
    if (setting.is_first && setting.field->is_list()) setting.field->clear(begun.values);
    apply_setting(setting, begun);
  }
  const RunConfig was = with_absolute_paths(begun.values);
  const RunConfig now = with_absolute_paths(config.values);
  std::string changes;
  for (const Field& field : all_fields()) {
    const bool says_where = field.key == kFolder || field.key == "run.resume";
    if (says_where || config.origin_of(field.key).kind != Origin::Kind::Flag) continue;
    const std::string before = text_of(field, was);
    const std::string after = text_of(field, now);
    if (before == after) continue;
    changes +=
        fmt::format("{}{} is {}, was {}", changes.empty() ? "" : "; ", field.key, after, before);
  }
  return one_line(changes);
}

// Files of runs from before rates were settled say "auto", which was the rate for trained weights
// then.
std::optional<double> rate_of_resumed(const std::vector<Setting>& own, ModelPart part) {
  if (own.empty()) return std::nullopt;
  RunConfig begun;
  for (const Setting& setting : own) {
    if (setting.field->key != "train.lr" || setting.stage.value_or(part) != part) continue;
    setting.field->assign(setting.value, begun);
  }
  return begun.train.lr.value_or(facts_of(part).learning_rate);
}

}  // namespace myxtts
