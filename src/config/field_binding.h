// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/field.h"
#include "config/value_text.h"

namespace myxtts {

// How a member of type T is written.
template <typename T>
struct Rule {
  std::string allowed;
  std::function<std::optional<T>(std::string_view)> parse;
  std::function<std::string(const T&)> format;
  std::vector<std::string> choices = {};
  bool is_free_text = false;  // any word may be a value, so quotes matter
};

Rule<std::int64_t> integer_between(std::int64_t least, std::int64_t most);
Rule<double> number_between(double least, double most);
Rule<bool> true_or_false();
Rule<bool> on_or_off();
Rule<std::string> word_of(std::vector<std::string> words);
Rule<std::string> language_code();
Rule<std::string> resume_point();
Rule<SplitGpu> gpu_with_multiprocessors();
Rule<GpuNumbers> gpu_numbers();
Rule<std::filesystem::path> path_of(std::string what);
Rule<CorpusLayout> corpus_layout();
Rule<Weights> weights_of(std::string what);  // "languages"
Rule<std::vector<std::string>> name_patterns();
Rule<std::vector<Stage>> stage_list();
Rule<StageBudgets> stage_budgets();

template <typename Enum>
Rule<Enum> one_of(std::vector<std::pair<std::string, Enum>> names) {
  std::vector<std::string> words;
  for (const auto& [word, value] : names) words.push_back(word);
  const auto parse = [names](std::string_view text) -> std::optional<Enum> {
    for (const auto& [word, value] : names) {
      if (word == text) return value;
    }
    return std::nullopt;
  };
  const auto format = [names](const Enum& wanted) {
    for (const auto& [word, value] : names) {
      if (value == wanted) return word;
    }
    return std::string();
  };
  return {.allowed = listed(words), .parse = parse, .format = format, .choices = words};
}

template <typename T>
struct is_optional : std::false_type {};
template <typename T>
struct is_optional<std::optional<T>> : std::true_type {};

// A field whose member is what `access` gives for a RunConfig. A member that is an optional needs
// an `absent_word`, any other must have none.
template <typename T, typename Access>
Field bind(FieldText text, Access access, Rule<T> rule, std::string absent_word = {}) {
  using Member = std::remove_cvref_t<decltype(access(std::declval<RunConfig&>()))>;
  constexpr bool kOptional = is_optional<Member>::value;
  Field field{std::move(text), rule.allowed, rule.choices, absent_word, {}, {}};
  if (kOptional) {
    field.allowed += ", or " + absent_word;
    if (!rule.choices.empty()) field.choices.push_back(absent_word);
  }
  field.assign = [access, rule, absent_word](const Scalar& value, RunConfig& config) {
    Member& member = access(config);
    if constexpr (kOptional) {
      if (value.text == absent_word && !(value.quoted && rule.is_free_text)) {
        member.reset();
        return true;
      }
    }
    const auto parsed = rule.parse(value.text);
    if (parsed) member = *parsed;
    return parsed.has_value();
  };
  field.value_of = [access, rule, absent_word](const RunConfig& config) {
    const Member& member = access(config);
    if constexpr (kOptional) {
      if (!member) return Scalar{absent_word, false};
      const std::string written = rule.format(*member);
      return Scalar{written, rule.is_free_text && written == absent_word};
    } else {
      return Scalar{rule.format(member), false};
    }
  };
  return field;
}

// The field of a list of corpora.
Field bind_corpora(FieldText text, std::vector<CorpusSource> DataConfig::*member);

}  // namespace myxtts

// The member of a RunConfig, constant where the RunConfig is.
#define MYXTTS_MEMBER(path)   \
  [](auto& config) -> auto& { \
    return config.path;       \
  }

namespace myxtts {

// What tells how a corpus is read, for every command that reads one.
inline const std::vector<std::string> kCorpusCommands = {"config", "train", "prepare", "evaluate"};

// Each appends the settings of one section, in the order of the printed file.
void add_data_fields(std::vector<Field>& fields);
void add_devices_fields(std::vector<Field>& fields);
void add_train_fields(std::vector<Field>& fields);
void add_parallel_fields(std::vector<Field>& fields);
void add_run_fields(std::vector<Field>& fields);

}  // namespace myxtts
