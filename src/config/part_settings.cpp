// SPDX-License-Identifier: Apache-2.0
#include "config/part_settings.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/message_text.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

constexpr std::string_view kGroup = "stages";
constexpr std::int64_t kMostSteps = 1'000'000'000;
constexpr double kMostMinutes = 100'000;
constexpr double kMostHours = 1'000'000;    // of speech
constexpr std::int64_t kNoEnd = 1'000'000;  // epochs

std::string_view leaf_of(std::string_view key) {
  return key.substr(key.rfind('.') + 1);
}

std::optional<ModelPart> parse_part(std::string_view name) {
  const auto* found =
      std::ranges::find(kModelParts, name, [](ModelPart stage) { return name_of(stage); });
  return found == kModelParts.end() ? std::nullopt : std::optional(*found);
}

std::optional<PartBudget> parse_budget(std::string_view text) {
  if (text.ends_with('m')) {
    const auto minutes = parse_number(text.substr(0, text.size() - 1));
    if (!minutes || *minutes <= 0 || *minutes > kMostMinutes) return std::nullopt;
    return PartBudget{.minutes = *minutes};
  }
  const auto at = text.find('@');
  const auto steps = parse_integer(text.substr(0, at));
  if (!steps || *steps < 1 || *steps > kMostSteps) return std::nullopt;
  if (at == std::string_view::npos) return PartBudget{.steps = *steps};
  if (!text.ends_with('h')) return std::nullopt;
  const auto hours = parse_number(text.substr(at + 1, text.size() - at - 2));
  if (!hours || *hours <= 0 || *hours > kMostHours) return std::nullopt;
  return PartBudget{.steps = *steps, .hours = *hours};
}

// Steps for an amount of speech wait for the corpus: see steps_of_budget().
void apply_budget(const PartBudget& budget, EffectiveConfig& config) {
  TrainConfig& train = config.values.train;
  if (budget.steps && !budget.hours)
    train.max_steps = std::min(*budget.steps, train.max_steps.value_or(kMostSteps));
  const bool chosen = !config.origins.empty() &&
                      config.origin_of("train.epochs").kind != Origin::Kind::Default &&
                      train.epochs != TrainConfig{}.epochs;
  if (!chosen) train.epochs = kNoEnd;
}

// Of what all stages of a chain share: what only some of them can have.
void leave_out_what_it_lacks(ModelPart stage, RunConfig& own) {
  if (!facts_of(stage).on_windows) {
    own.train.windows_per_clip.reset();
    own.train.window.reset();
    return;
  }
  own.data.cache_dataset = false;  // it serves the GPT alone
  own.train.recompute.reset();
  own.train.release_gradients.reset();
  own.train.freeze.reset();
}

}  // namespace

std::optional<std::vector<ModelPart>> parse_parts(std::string_view text) {
  std::vector<ModelPart> stages;
  for (const std::string_view part : split_at_commas(text)) {
    const auto stage = parse_part(part);
    if (!stage || std::ranges::find(stages, *stage) != stages.end()) return std::nullopt;
    stages.push_back(*stage);
  }
  return stages;
}

std::string format_parts(const std::vector<ModelPart>& stages) {
  std::string text;
  for (const ModelPart stage : stages) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", name_of(stage));
  }
  return text;
}

std::string fault_of_parts(std::string_view list) {
  std::vector<std::string> names;
  for (const ModelPart part : kModelParts) names.emplace_back(name_of(part));
  for (const std::string_view item : split_at_commas(list)) {
    const std::string name(item.substr(0, item.find('=')));
    if (name.empty() || parse_part(name)) continue;
    const auto near = nearest_name(name, names);
    return fmt::format("; there is no stage {}{}", quote(name),
                       near ? fmt::format(", did you mean {}?", *near) : ".");
  }
  std::set<std::string> seen;
  for (const std::string_view item : split_at_commas(list)) {
    const std::string name(item.substr(0, item.find('=')));
    if (!seen.insert(name).second) return fmt::format("; {} stands there twice.", name);
  }
  return {};
}

std::optional<PartBudgets> parse_part_budgets(std::string_view text) {
  PartBudgets budgets;
  for (const std::string_view part : split_at_commas(text)) {
    const auto equals = std::min(part.find('='), part.size());
    const auto stage = parse_part(part.substr(0, equals));
    const auto budget = parse_budget(part.substr(std::min(equals + 1, part.size())));
    if (!stage || !budget || !budgets.emplace(*stage, *budget).second) return std::nullopt;
  }
  return budgets;
}

std::string format_part_budget(const PartBudget& budget) {
  if (budget.minutes) return fmt::format("{}m", *budget.minutes);
  return budget.hours ? fmt::format("{}@{}h", *budget.steps, *budget.hours)
                      : std::to_string(*budget.steps);
}

std::string format_part_budgets(const PartBudgets& budgets) {
  std::string text;
  for (const auto& [stage, budget] : budgets) {
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ",", name_of(stage), format_part_budget(budget));
  }
  return text;
}

std::optional<std::int64_t> most_steps(const TrainConfig& train, double hours) {
  const auto& budgets = train.stage_budget;
  const auto own = budgets ? budgets->find(train.stage) : PartBudgets::const_iterator{};
  if (!budgets || own == budgets->end() || !own->second.hours) return train.max_steps;
  const auto steps =
      static_cast<double>(*own->second.steps) * std::sqrt(hours / *own->second.hours);
  return std::clamp<std::int64_t>(std::llround(steps), 1, train.max_steps.value_or(kMostSteps));
}

bool may_differ_by_part(const Field& field) {
  static const std::set<std::string_view> shared = {
      "train.stage",    "train.stages",       "train.stage_budget", "train.model_size",
      "train.init",     "train.vocab",        "train.vocab_pieces", "train.max_minutes",
      "run.resume",     "run.checkpoint_dir", "run.trace",          "run.watch",
      "run.watch_port", "run.mlflow"};
  const std::string_view section = section_of(field.key);
  return (section == "train" || section == "run") && !shared.contains(field.key);
}

std::optional<std::pair<const Field*, ModelPart>> find_part_key(std::string_view key) {
  const auto last = key.rfind('.');
  if (last == std::string_view::npos || !key.starts_with(kGroup)) return std::nullopt;
  if (!is_group_of_parts(key.substr(0, last)) || key.substr(0, last) == kGroup) {
    return std::nullopt;
  }
  const auto stage = parse_part(leaf_of(key.substr(0, last)));
  for (const Field& field : all_fields()) {
    if (may_differ_by_part(field) && leaf_of(field.key) == leaf_of(key)) {
      return std::pair(&field, *stage);
    }
  }
  return std::nullopt;
}

bool is_group_of_parts(std::string_view key) {
  if (!key.starts_with(kGroup)) return false;
  const std::string_view rest = key.substr(kGroup.size());
  return rest.empty() || (rest.starts_with('.') && parse_part(rest.substr(1)));
}

std::vector<std::string> all_part_keys() {
  std::vector<std::string> keys;
  for (const ModelPart stage : kModelParts) {
    keys.push_back(fmt::format("{}.{}", kGroup, name_of(stage)));
    for (const Field& field : all_fields()) {
      if (may_differ_by_part(field)) {
        keys.push_back(fmt::format("{}.{}.{}", kGroup, name_of(stage), leaf_of(field.key)));
      }
    }
  }
  return keys;
}

EffectiveConfig settings_of_part(const EffectiveConfig& config, ModelPart stage) {
  EffectiveConfig own = config;
  own.values.train.stage = stage;
  if (config.values.train.stages) leave_out_what_it_lacks(stage, own.values);
  own.values.train.stages.reset();
  for (const Setting& setting : config.stage_settings) {
    if (setting.stage == stage) apply_setting(setting, own);
  }
  if (const auto& budgets = config.values.train.stage_budget; budgets && budgets->contains(stage)) {
    apply_budget(budgets->at(stage), own);
  }
  return own;
}

}  // namespace myxtts
