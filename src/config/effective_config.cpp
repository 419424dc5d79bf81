// SPDX-License-Identifier: Apache-2.0
#include "config/effective_config.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/part_settings.h"
#include "config/resumed_run.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

// By name: the values by their keys, in the order in which they are set.
using Preset = std::pair<std::string, std::vector<std::pair<std::string, std::string>>>;

const std::vector<Preset>& all_presets() {
  static const std::vector<Preset> presets = {
      {"tiny-cpu",
       {{"devices.device", "cpu"},
        {"train.model_size", "tiny"},
        {"train.batch_size", "2"},
        {"train.max_steps", "100"}}},
      {"one-gpu", {{"devices.device", "cuda"}, {"devices.mode", "single"}}},
      {"two-gpu",
       {{"devices.device", "cuda"},
        {"devices.mode", "dual"},
        {"data.data_gpu", "0"},
        {"data.model_gpu", "1"}}},
  };
  return presets;
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const auto& [name, values] : all_presets()) names.push_back(name);
  return names;
}

std::vector<Setting> read_preset(const std::string& name) {
  for (const auto& [known, values] : all_presets()) {
    if (known != name) continue;
    std::vector<Setting> settings;
    for (const auto& [key, value] : values) {
      const Field* field = find_field(key);
      MYXTTS_CHECK(field != nullptr, "the preset {} sets the unknown key {}", name, key);
      settings.push_back({field, {value, false}, {Origin::Kind::Preset, name, 0}});
    }
    return settings;
  }
  const std::vector<std::string> names = preset_names();
  const auto near = nearest_name(name, names);
  throw ConfigError(fmt::format("There is no preset {}{}; --preset takes {}.", quote(name),
                                near ? fmt::format(" (did you mean {}?)", *near) : "",
                                listed(names)));
}

namespace {

// "run.yaml:3: data.num_workers", "--num-workers".
std::string subject(const Setting& setting) {
  switch (setting.origin.kind) {
    case Origin::Kind::File:
      return fmt::format("{}: {}", describe(setting.origin),
                         setting.stage ? fmt::format("{} of the part {}", setting.field->key,
                                                     name_of(*setting.stage))
                                       : setting.field->key);
    case Origin::Kind::Flag:
      return setting.origin.name;
    case Origin::Kind::Preset:
    case Origin::Kind::Default:
      break;
  }
  return fmt::format("{} of the {}", setting.field->key, describe(setting.origin));
}

// A flag was given for all stages.
void drop_what_flags_set(EffectiveConfig& config) {
  std::erase_if(config.stage_settings, [&config](const Setting& setting) {
    return config.origin_of(setting.field->key).kind == Origin::Kind::Flag;
  });
}

// Each stage's settings must be fine together, also those of a stage that comes later.
void check_stages(const EffectiveConfig& config) {
  if (!config.values.train.stages) return check_consistency(config);
  for (const ModelPart stage : *config.values.train.stages) {
    check_consistency(settings_of_part(config, stage));
  }
  check_chain(config);
}

}  // namespace

void apply_setting(const Setting& setting, EffectiveConfig& config) {
  const Field& field = *setting.field;
  if (!field.assign(setting.value, config.values)) {
    if (!is_text(setting.value.text)) {
      throw ConfigError(fmt::format("{} was given {}, {}", subject(setting),
                                    quote(setting.value.text), kNotUtf8));
    }
    const auto near = field.key == "data.language"
                          ? language_code_meant(setting.value.text)
                          : nearest_name(setting.value.text, field.choices);
    const bool is_of_stages = field.key == "train.stages" || field.key == "train.stage_budget";
    std::string hint = is_of_stages ? fault_of_parts(setting.value.text) : "";
    if (hint.empty()) hint = near ? fmt::format("; did you mean {}?", *near) : ".";
    throw ConfigError(fmt::format("{} takes {}, but was given {}{}", subject(setting),
                                  field.allowed, quote(setting.value.text), hint));
  }
  Origin& origin = config.origins[static_cast<std::size_t>(&field - all_fields().data())];
  origin = setting.origin;
  if (origin.kind == Origin::Kind::Flag) origin.as = setting.value.text;
}

std::string describe(const Origin& origin) {
  switch (origin.kind) {
    case Origin::Kind::Default:
      return origin.name.empty() ? "default" : fmt::format("default: {}", origin.name);
    case Origin::Kind::Preset:
      return fmt::format("preset {}", origin.name);
    case Origin::Kind::File:
      return fmt::format("{}:{}{}", origin.name, origin.line,
                         origin.as.empty() ? "" : " as " + origin.as);
    case Origin::Kind::Flag:
      return fmt::format("flag {}", origin.name);
  }
  return {};
}

const Origin& EffectiveConfig::origin_of(std::string_view key) const {
  const Field* field = find_field(key);
  MYXTTS_CHECK(field != nullptr, "there is no setting {}", key);
  return origins[static_cast<std::size_t>(field - all_fields().data())];
}

namespace {

constexpr const char* kRate = "train.lr";

// `own` are the settings of a run that goes on.
Setting usual_rate(const EffectiveConfig& config, ModelPart part, const ConfigSources& sources,
                   const std::vector<Setting>& own) {
  const auto setting = [](double rate, const char* why) {
    return Setting{.field = find_field(kRate),
                   .value = {format_number(rate), false},
                   .origin = {Origin::Kind::Default, why}};
  };
  if (const auto rate = rate_of_resumed(own, part)) {
    return setting(*rate, "it is the run's own");
  }
  const PartFacts& facts = facts_of(part);
  if (facts.learning_rate == facts.rate_from_nothing) {
    return setting(facts.learning_rate, "usual for this part, whatever it starts from");
  }
  const auto& init = config.values.train.init;
  if (!init || (sources.is_untrained && sources.is_untrained(*init, part))) {
    return setting(facts.rate_from_nothing, "the part starts from nothing");
  }
  return setting(facts.learning_rate, "the part starts from trained weights");
}

// Of several stages each has its own.
void settle_rates(EffectiveConfig& config, const ConfigSources& sources,
                  const std::vector<Setting>& own) {
  TrainConfig& train = config.values.train;
  if (train.lr) return;
  for (const ModelPart part : train.stages.value_or(std::vector{train.stage})) {
    if (settings_of_part(config, part).values.train.lr) continue;
    Setting setting = usual_rate(config, part, sources, own);
    std::erase_if(config.stage_settings, [&](const Setting& each) {  // an "auto"
      return each.stage == part && each.field == setting.field;
    });
    if (!train.stages) return apply_setting(setting, config);
    setting.stage = part;
    config.stage_settings.push_back(setting);
  }
}

}  // namespace

std::vector<std::string> settled_rates(const EffectiveConfig& config) {
  const TrainConfig& train = config.values.train;
  std::vector<std::string> lines;
  for (const ModelPart part : train.stages.value_or(std::vector{train.stage})) {
    const EffectiveConfig own = settings_of_part(config, part);
    const Origin& origin = own.origin_of(kRate);
    if (origin.kind != Origin::Kind::Default || !own.values.train.lr) continue;
    lines.push_back(
        fmt::format("lr {} for {}: {}", *own.values.train.lr, name_of(part), origin.name));
  }
  return lines;
}

namespace {

// The setting as a message names it; empty where a message could only propose it.
std::string as_typed(const Field& field, const EffectiveConfig& config) {
  const std::string value = field.value_of(config.values).text;
  if (field.negative_flag.empty()) return fmt::format("{} {}", field.flag, value);
  const bool is_default = config.origin_of(field.key).kind == Origin::Kind::Default;
  return is_default || value != "true" ? "" : field.flag;
}

// "leave out --data-gpu 0 --model-gpu 1" becomes "leave out --preset two-gpu", as does "in place
// of" them.
void name_preset(std::string& message, const std::string& typed, const std::string& name) {
  for (const std::string rid_of : {"leave out ", "in place of "}) {
    const std::string preset = rid_of + "--preset " + name;
    for (const std::string& said : {preset + " " + typed, rid_of + typed}) {
      const std::size_t at = message.find(said);
      if (at == std::string::npos) continue;
      message.replace(at, said.size(), preset);
      break;
    }
  }
}

// Whether what stands at `at` is there to be typed: behind "myxtts" or "give" in its clause.
bool is_to_be_typed(std::string_view message, std::size_t at) {
  std::string_view clause = message.substr(0, at);
  for (const std::string_view end : {"; ", ". ", "(", ")", "\n", "in place of "}) {
    const std::size_t found = clause.rfind(end);
    if (found != clause.npos) clause.remove_prefix(found + end.size());
  }
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"myxtts ", "give ", "Give ", "add ", "Add ", "use ",
                                              "Use ", "as in "},
      [clause](std::string_view word) { return clause.find(word) != clause.npos; });
}

// Where the message, from `from` on, speaks of a setting as it is; npos: nowhere.
std::size_t place_of(std::string_view typed, std::string_view message, std::size_t from = 0) {
  constexpr std::string_view kEndsOfWords = " ,;:.\n";
  std::size_t at = message.find(typed, from);
  for (; at != message.npos; at = message.find(typed, at + 1)) {
    const std::size_t end = at + typed.size();
    const bool is_whole = end >= message.size() || kEndsOfWords.find(message[end]) != message.npos;
    if (is_whole && !is_to_be_typed(message, at)) break;
  }
  return at;
}

}  // namespace

std::string with_origins(const EffectiveConfig& config, std::string message) {
  for (const Field& field : all_fields()) {
    const Origin& origin = config.origin_of(field.key);
    if (field.is_list()) continue;
    const std::string typed = as_typed(field, config);
    if (typed.empty()) continue;
    if (origin.kind == Origin::Kind::Preset) name_preset(message, typed, origin.name);
    std::size_t at = place_of(typed, message);
    if (origin.kind == Origin::Kind::Flag && field.negative_flag.empty()) {
      const std::string said = field.flag + " " + one_line(origin.as);
      for (; at != std::string::npos; at = place_of(typed, message, at + said.size())) {
        message.replace(at, typed.size(), said);
      }
    } else if (at != std::string::npos && origin.kind != Origin::Kind::Flag) {
      message.insert(at + typed.size(), fmt::format(" ({})", one_line(describe(origin))));
    }
  }
  return message;
}

namespace {

// `of_file`: what the config file says.
EffectiveConfig applied(const ConfigSources& sources, const std::vector<Setting>& of_file) {
  EffectiveConfig config{.values = {}, .origins = std::vector<Origin>(all_fields().size())};
  const auto apply_all = [&config](const std::vector<Setting>& settings) {
    for (const Setting& setting : settings) {
      if (setting.stage) {
        config.stage_settings.push_back(setting);
        continue;
      }
      if (setting.is_first && setting.field->is_list()) setting.field->clear(config.values);
      apply_setting(setting, config);
    }
  };
  if (sources.preset) apply_all(read_preset(*sources.preset));
  apply_all(of_file);
  apply_all(sources.flags);
  drop_what_flags_set(config);
  settle_run_directory(config);
  return config;
}

// Who continues a run means it as it was, but for what is typed anew; a file that is named says it
// all itself, and so do the flags of another run that begins with a checkpoint of this one.
bool keeps_its_settings(const ConfigSources& sources, const RunConfig& values) {
  if (sources.file) return false;
  return values.data.train_data.empty() || !begins_another_run(values);
}

}  // namespace

EffectiveConfig make_effective_config(const ConfigSources& sources) {
  EffectiveConfig config =
      applied(sources, sources.file ? read_config_file(file_or_recipe(*sources.file))
                                    : std::vector<Setting>{});
  const std::vector<Setting> own = settings_of_resumed(config.values);
  if (!own.empty() && keeps_its_settings(sources, config.values)) {
    log_info("config", "the settings are those of {}; flags win over them",
             own_file_of_resumed(config.values).string());
    config = applied(sources, own);
  }
  const std::string changes = changes_of_resumed(config, own);
  if (!changes.empty()) log_info("config", "changed since the run was begun: {}", changes);
  keep_what_is_the_runs(config, own);
  // A value that is not allowed is an error also where its stage is not trained now.
  for (const ModelPart stage : kModelParts) settings_of_part(config, stage);
  if (!config.values.train.stages) config = settings_of_part(config, config.values.train.stage);
  settle_rates(config, sources, own);
  check_stages(config);
  return config;
}

}  // namespace myxtts
