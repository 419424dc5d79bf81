// SPDX-License-Identifier: Apache-2.0
#include "config/settings_reader.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/nearest.h"
#include "config/obsolete.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

constexpr std::size_t kMostLevels = 16;

int line_of(const YAML::Mark& mark) {
  return mark.line + 1;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const Field& field : all_fields()) {
    const std::string section(section_of(field.key));
    if (std::find(names.begin(), names.end(), section) == names.end()) names.push_back(section);
  }
  return names;
}

bool is_section(std::string_view key) {
  const auto names = section_names();
  return std::find(names.begin(), names.end(), key) != names.end();
}

// The known key that was most likely meant: one with the same last part, else the nearest spelling.
std::optional<std::string> nearest_key(const std::string& wrong) {
  constexpr std::size_t kLongestKey = 100;  // beyond it, comparing only costs time
  if (wrong.size() > kLongestKey) return std::nullopt;
  const auto leaf = [](std::string_view key) { return key.substr(key.rfind('.') + 1); };
  std::vector<std::string> known = section_names();
  for (const Field& field : all_fields()) {
    if (leaf(field.key) == leaf(wrong)) return field.key;
    known.push_back(field.key);
  }
  return nearest_name(wrong, known);
}

}  // namespace

void SettingsReader::OnDocumentStart(const YAML::Mark& mark) {
  if (++documents_ > 1) fail(line_of(mark), "A second document begins; keep one in a file.");
}

void SettingsReader::OnNull(const YAML::Mark& mark, YAML::anchor_t) {
  if (levels_.empty() || levels_.back().skipped) return;  // an empty file sets nothing
  Level& level = levels_.back();
  if (level.at_key) fail(line_of(mark), "A key is empty; write a setting such as 'seed: 7'.");
  const Field* field = find_field(level.key);
  if (field != nullptr && field->absent_word.empty()) {
    fail(level.key_line, fmt::format("{} has no value; it takes {}.", level.key, field->allowed));
  }
  if (field != nullptr) take_value(level.key_line, {field->absent_word, false});
  value_done();
}

void SettingsReader::OnAlias(const YAML::Mark& mark, YAML::anchor_t) {
  fail(line_of(mark), "Aliases (*name) are not allowed in a config file; write the value out.");
}

void SettingsReader::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                              const std::string& value) {
  const int line = line_of(mark);
  refuse_tag(line, tag);
  if (levels_.empty()) {
    fail(line, fmt::format("The file holds {} and no settings; write lines such as 'seed: 7' "
                           "below a line 'train:'.",
                           quote(value)));
  }
  Level& level = levels_.back();
  if (level.skipped) return;
  if (level.at_key) {
    take_key(line, value);
    return;
  }
  take_value(line, {value, tag == "!"});
  value_done();
}

void SettingsReader::OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                                     YAML::EmitterStyle::value) {
  refuse_tag(line_of(mark), tag);
  enter(line_of(mark), "a list");
}

void SettingsReader::OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                                YAML::EmitterStyle::value) {
  refuse_tag(line_of(mark), tag);
  if (levels_.empty()) {
    levels_.push_back({});
    return;
  }
  const Level& level = levels_.back();
  if (!level.skipped && !level.at_key && is_section(level.key)) {
    levels_.push_back({.prefix = level.key + "."});
    return;
  }
  enter(line_of(mark), "a map");
}

// A list or a map where a single value belongs: only below an obsolete key.
void SettingsReader::enter(int line, std::string_view what) {
  if (levels_.empty()) {
    fail(line, fmt::format("The file holds {} and no settings; write lines such as 'seed: 7' "
                           "below a line 'train:'.",
                           what));
  }
  const Level& level = levels_.back();
  if (levels_.size() >= kMostLevels)
    fail(line,
         "The file is nested too deeply; settings have two levels, as in 'train:' and 'seed: 7'.");
  if (level.skipped || (!level.at_key && !reason_obsolete(level.key).empty())) {
    levels_.push_back({.prefix = {}, .skipped = true});
    return;
  }
  if (level.at_key)
    fail(line, fmt::format("A key is {}; write a setting such as 'seed: 7'.", what));
  const Field* field = find_field(level.key);
  fail(level.key_line, fmt::format("{} takes {}, but was given {}.", level.key,
                                   field != nullptr ? field->allowed : "settings by name", what));
}

void SettingsReader::leave() {
  levels_.pop_back();
  if (!levels_.empty() && !levels_.back().skipped) value_done();
}

void SettingsReader::value_done() {
  levels_.back().at_key = true;
}

void SettingsReader::take_key(int line, const std::string& key) {
  Level& level = levels_.back();
  level.key = level.prefix + key;
  level.key_line = line;
  level.at_key = false;
  const std::string_view reason = reason_obsolete(level.key);
  const bool known = find_field(level.key) != nullptr || !reason.empty() ||
                     (level.prefix.empty() && is_section(level.key));
  if (!known) fail_unknown(line, level.key);
  if (!seen_.insert(level.key).second) {
    fail(line, fmt::format("{} stands here a second time; keep one of the two.", level.key));
  }
  if (!reason.empty()) {
    log_info("config", "{}:{}: {} is no longer needed and was left alone: {}.", file_name_, line,
             level.key, reason);
  }
}

void SettingsReader::take_value(int line, const Scalar& value) {
  const Level& level = levels_.back();
  const Field* field = find_field(level.key);
  if (field != nullptr) {
    settings_.push_back({field, value, {Origin::Kind::File, file_name_, level.key_line}});
  } else if (is_section(level.key)) {
    fail(line, fmt::format("{} takes settings by name on indented lines, but was given {}.",
                           level.key, quote(value.text)));
  }
}

void SettingsReader::refuse_tag(int line, const std::string& tag) const {
  const bool is_plain = tag.empty() || tag == "?" || tag == "!";
  if (!is_plain) {
    fail(line, fmt::format("The tag {} is not allowed in a config file; write the value alone.",
                           quote(tag)));
  }
}

void SettingsReader::fail(int line, const std::string& sentence) const {
  throw ConfigError(fmt::format("{}:{}: {}", file_name_, line, sentence));
}

void SettingsReader::fail_unknown(int line, const std::string& key) const {
  const auto near = nearest_key(key);
  fail(line, near ? fmt::format("There is no setting {}; did you mean {}?", quote(key), *near)
                  : fmt::format("There is no setting {}; the sections are {}, and "
                                "'myxtts config --format reference' lists what they hold.",
                                quote(key), listed(section_names())));
}

}  // namespace myxtts
