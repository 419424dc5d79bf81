// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/effective_config.h"

namespace myxtts {

// "dvae,gpt,decoder": each at most once.
std::optional<std::vector<ModelPart>> parse_parts(std::string_view text);
std::string format_parts(const std::vector<ModelPart>& stages);

// What is wrong with the names in a list of stages or budgets, as the end of a message: "; there is
// no stage 'gtp', did you mean gpt?", "; gpt stands there twice."; empty: nothing is.
std::string fault_of_parts(std::string_view list);

// "dvae=3000,gpt=6000@1h,decoder=8m": steps, steps for hours of speech, minutes.
std::optional<PartBudgets> parse_part_budgets(std::string_view text);
std::string format_part_budgets(const PartBudgets& budgets);
std::string format_part_budget(const PartBudget& budget);  // "3000", "6000@1h" or "8m"

// The steps that --max-steps and the budget of the stage allow with so many hours of speech to
// train on; nothing: any number. Where a budget is for an amount of speech, twice as much speech
// has the square root of two times as many steps.
std::optional<std::int64_t> most_steps(const TrainConfig& train, double hours);

// Whether the section stages of a config file may set it for one stage: what decides how that is
// trained, and nothing that all stages share.
bool may_differ_by_part(const Field& field);

// The setting of a key of that section, "stages.dvae.lr"; nothing where there is none. Its name
// there is that of the setting without its section.
std::optional<std::pair<const Field*, ModelPart>> find_part_key(std::string_view key);

// Whether it is "stages" or "stages.dvae", below which such keys stand.
bool is_group_of_parts(std::string_view key);

// Every key of that section, for messages.
std::vector<std::string> all_part_keys();

// The settings that one stage is trained with: what the section stages says of it over what all
// share, and its budget. An --epochs that nobody chose ends no stage that has a budget. What stages
// of a chain share and this one cannot have (the feature cache, windows) is left out of it.
EffectiveConfig settings_of_part(const EffectiveConfig& config, ModelPart stage);

}  // namespace myxtts
