// SPDX-License-Identifier: Apache-2.0
#include "cli/config_flags.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "config/value_text.h"
#include "run/open_model.h"

namespace myxtts {
namespace {

CLI::Option* add_text_option(CLI::App& app, const std::string& flag,
                             const std::string& description) {
  return app.add_option(flag, CLI::callback_t([](const CLI::results_t&) { return true; }),
                        description);
}

std::string description_of(const Field& field) {
  const std::string value = field.value_of(RunConfig{}).text;
  if (!field.negative_flag.empty()) return fmt::format("{} [{}]", field.sentence, value);
  return fmt::format("{} Takes {}. [{}]", field.sentence, field.allowed, value);
}

CLI::Option* add_field(CLI::App& app, const Field& field) {
  CLI::Option* option;
  if (!field.negative_flag.empty()) {
    option = app.add_flag(fmt::format("{},!{}", field.flag, field.negative_flag));
    option->description(description_of(field));
  } else {
    option = add_text_option(app, field.flag, description_of(field));
    option->type_name(field.placeholder);
  }
  if (field.is_list()) {
    option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(false);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  if (!field.bare_value.empty()) option->expected(0, 1)->default_str(field.bare_value);
  return option->group(field.group);
}

// `profile` is a short training of one stage without a run directory: it has the flags of `train`
// but for those of anything else.
bool has_flag(const std::string& command, const Field& field) {
  static const std::set<std::string_view> of_long_runs = {"train.stages", "train.stage_budget",
                                                          "train.max_minutes"};
  const bool is_profile = command == "profile";
  if (is_profile && of_long_runs.contains(field.key)) return false;
  if (is_profile && section_of(field.key) == "run" && field.key != "run.trace") return false;
  return std::ranges::find(field.commands, is_profile ? "train" : command) != field.commands.end();
}

// The flag that was typed for a value.
std::string typed_flag(const Field& field, const std::string& value) {
  return field.negative_flag.empty() || value != "false" ? field.flag : field.negative_flag;
}

// --enable-x --disable-x: nobody can know which was meant.
void refuse_contradiction(const Field& field, const std::vector<std::string>& values) {
  const bool on = std::ranges::find(values, "true") != values.end();
  const bool off = std::ranges::find(values, "false") != values.end();
  if (field.negative_flag.empty() || !on || !off) return;
  throw ConfigError(fmt::format("{} and {} contradict each other; leave one of the two out.",
                                field.flag, field.negative_flag));
}

}  // namespace

ConfigFlags::ConfigFlags(CLI::App& app)
    : ConfigFlags(app, [&app](const Field& field) { return has_flag(app.get_name(), field); }) {}

ConfigFlags::ConfigFlags(CLI::App& app, const std::vector<std::string_view>& keys)
    : ConfigFlags(app, [&keys](const Field& field) {
        return std::ranges::find(keys, field.key) != keys.end();
      }) {}

ConfigFlags::ConfigFlags(CLI::App& app, const std::function<bool(const Field&)>& has) {
  preset_ = add_text_option(app, "--preset",
                            fmt::format("Starts from the settings of {}.", listed(preset_names())))
                ->type_name(fmt::format("{}", fmt::join(preset_names(), "|")))
                ->group("Configuration");
  file_ = add_text_option(app, "--config", "Reads settings from a YAML file; flags win over it.")
              ->type_name("FILE")
              ->group("Configuration");
  for (const Field& field : all_fields()) {
    if (!has(field)) continue;
    fields_.emplace_back(&field, add_field(app, field));
  }
}

ConfigSources ConfigFlags::sources() const {
  ConfigSources sources{.is_untrained = is_untrained};
  if (preset_->count() > 0) sources.preset = preset_->results().back();
  if (file_->count() > 0) sources.file = file_->results().back();
  for (const auto& [field, option] : fields_) {
    if (option->count() == 0) continue;
    refuse_contradiction(*field, option->results());
    bool is_first = true;
    for (const std::string& value : option->results()) {
      sources.flags.push_back(
          {field, {value, false}, {Origin::Kind::Flag, typed_flag(*field, value), 0}, is_first});
      is_first = false;
    }
  }
  return sources;
}

int with_named_origins(const EffectiveConfig& settings, const std::function<int()>& work) {
  try {
    return work();
  } catch (const ConfigError& error) {
    throw ConfigError(with_origins(settings, error.what()));
  } catch (const DataError& error) {
    throw DataError(with_origins(settings, error.what()));
  } catch (const DeviceError& error) {
    throw DeviceError(with_origins(settings, error.what()));
  }
}

}  // namespace myxtts
