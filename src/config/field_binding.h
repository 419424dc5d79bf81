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

#include "base/error.h"
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
  bool is_free_text = false;     // any word may be a value, so quotes matter
  std::string absent_word = {};  // what an optional member without a value is written as
};

// A rule for an optional member.
template <typename T>
Rule<T> or_auto(Rule<T> rule) {
  rule.absent_word = "auto";
  return rule;
}
template <typename T>
Rule<T> or_none(Rule<T> rule) {
  rule.absent_word = "none";
  return rule;
}

Rule<std::int64_t> integer_between(std::int64_t least, std::int64_t most);
Rule<double> number_between(double least, double most);
Rule<bool> true_or_false();
Rule<bool> on_or_off();
Rule<std::string> word_of(std::vector<std::string> words);
Rule<std::string> language_code();
Rule<std::string> resume_point();
Rule<std::string> web_address();
Rule<SplitGpu> gpu_with_multiprocessors();
Rule<GpuNumbers> gpu_numbers();
Rule<std::filesystem::path> path_of(std::string what);
Rule<std::filesystem::path> recogniser();  // whisper=DIR
Rule<CorpusLayout> corpus_layout();
Rule<Weights> weights_of(std::string what);  // "languages"
Rule<std::vector<std::string>> name_patterns();
Rule<std::vector<ModelPart>> stage_list();
Rule<PartBudgets> stage_budgets();

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

// A rule of words that knows the value under one more, which it never writes.
template <typename T>
Rule<T> also_called(std::string word, T value, Rule<T> rule) {
  rule.parse = [word, value, parse = rule.parse](std::string_view text) -> std::optional<T> {
    return text == word ? std::optional<T>(value) : parse(text);
  };
  rule.choices.push_back(word);
  rule.allowed = listed(rule.choices);
  return rule;
}

// Connects a field with the member that `access` gives for a RunConfig: an optional exactly if the
// rule has an absent_word.
template <typename T, typename Access>
void bind(Field& field, Access access, Rule<T> rule) {
  using Member = std::remove_cvref_t<decltype(access(std::declval<RunConfig&>()))>;
  constexpr bool kOptional = std::is_same_v<Member, std::optional<T>>;
  static_assert(kOptional || std::is_same_v<Member, T>);
  MYXTTS_CHECK(kOptional != rule.absent_word.empty(), "{} has a rule of another kind", field.key);
  field.allowed = rule.allowed;
  field.choices = rule.choices;
  field.absent_word = rule.absent_word;
  if (kOptional) {
    field.allowed += ", or " + rule.absent_word;
    if (!rule.choices.empty()) field.choices.push_back(rule.absent_word);
  }
  field.assign = [access, rule](const Scalar& value, RunConfig& config) {
    Member& member = access(config);
    if constexpr (kOptional) {
      if (value.text == rule.absent_word && !(value.quoted && rule.is_free_text)) {
        member.reset();
        return true;
      }
    }
    const auto parsed = rule.parse(value.text);
    if (parsed) member = *parsed;
    return parsed.has_value();
  };
  field.value_of = [access, rule](const RunConfig& config) {
    const Member& member = access(config);
    if constexpr (kOptional) {
      if (!member) return Scalar{rule.absent_word, false};
      const std::string written = rule.format(*member);
      return Scalar{written, rule.is_free_text && written == rule.absent_word};
    } else {
      return Scalar{rule.format(member), false};
    }
  };
}

// What decides how a corpus is read, for every command that reads one.
inline const std::vector<std::string> kCorpusCommands = {"config", "train", "prepare", "evaluate"};

// Appends settings to the table, below one heading of the help. The flag follows from the key:
// "--num-workers" from "data.num_workers".
class FieldGroup {
 public:
  FieldGroup(std::vector<Field>& fields, std::string heading,
             std::vector<std::string> commands = {"config", "train"})
      : fields_(fields), heading_(std::move(heading)), commands_(std::move(commands)) {}

  template <typename T, typename Access>
  Field& add(std::string_view key, Access access, std::string placeholder, Rule<T> rule,
             std::string sentence) {
    Field& field = append(key, std::move(sentence));
    field.placeholder = std::move(placeholder);
    bind(field, access, std::move(rule));
    return field;
  }

  // A flag without a value, and a negative one: --no-strict, --disable-x for --enable-x.
  template <typename Access>
  Field& add_switch(std::string_view key, Access access, std::string sentence) {
    Field& field = append(key, std::move(sentence));
    field.negative_flag = negative_of(field.flag);
    bind(field, access, true_or_false());
    return field;
  }

  // A list of corpora.
  void add_corpora(std::string_view key, std::vector<CorpusSource> DataConfig::*member,
                   std::string sentence);

 private:
  Field& append(std::string_view key, std::string sentence);
  static std::string negative_of(std::string_view flag);

  std::vector<Field>& fields_;
  std::string heading_;
  std::vector<std::string> commands_;
};

// Appends the settings of the section train.
void add_train_fields(std::vector<Field>& fields);

}  // namespace myxtts

// The member of a RunConfig, constant where the RunConfig is.
#define MYXTTS_MEMBER(path)   \
  [](auto& config) -> auto& { \
    return config.path;       \
  }

// The key and the member of a setting, where both have the same name.
#define MYXTTS_FIELD(path) #path, MYXTTS_MEMBER(path)
