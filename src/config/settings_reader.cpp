// SPDX-License-Identifier: Apache-2.0
#include "config/settings_reader.h"

#include <algorithm>
#include <iterator>
#include <span>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "config/part_settings.h"
#include "config/value_text.h"

namespace myxtts {

int line_of(const YAML::Mark& mark) {
  return mark.is_null() ? 1 : mark.line + 1;
}

namespace {

constexpr std::size_t kMostLevels = 16;

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

// The setting of a key, wherever it stands.
const Field* field_of(const std::string& key) {
  if (const Field* field = find_field(key)) return field;
  const auto found = find_part_key(key);
  return found ? found->first : nullptr;
}

bool is_group(const std::string& key) {
  return is_section(key) || is_group_of_parts(key) || is_predecessor_section(key);
}

std::string_view leaf_of_key(std::string_view key) {
  return key.substr(key.rfind('.') + 1);
}

// The one of `keys` whose last part was most likely meant.
std::optional<std::string> key_by_leaf(const std::string& wrong,
                                       const std::vector<std::string>& keys) {
  std::vector<std::string> leaves;
  for (const std::string& key : keys) leaves.emplace_back(leaf_of_key(key));
  const auto leaf = meant_name(leaf_of_key(wrong), leaves);
  if (!leaf) return std::nullopt;
  return keys[static_cast<std::size_t>(std::ranges::find(leaves, *leaf) - leaves.begin())];
}

// Of a word that stands at the left edge: a section, else a setting, else the section that it
// begins with.
std::optional<std::string> nearest_section(const std::string& wrong,
                                           const std::vector<std::string>& keys) {
  const std::vector<std::string> sections = section_names();
  if (const auto near = nearest_name(wrong, sections)) return near;
  if (const auto near = key_by_leaf(wrong, keys)) return near;
  const auto begins = [&wrong](const std::string& name) { return wrong.starts_with(name); };
  const auto found = std::ranges::find_if(sections, begins);
  return found == sections.end() ? std::nullopt : std::optional(*found);
}

// The known key that was most likely meant: one with the same last part, else one of its section,
// else one of any.
std::optional<std::string> nearest_key(const std::string& wrong) {
  constexpr std::size_t kLongestKey = 100;  // beyond it, comparing only costs time
  if (wrong.size() > kLongestKey) return std::nullopt;
  const bool of_stages = wrong.starts_with("stages.");
  std::vector<std::string> keys;
  for (const Field& field : all_fields()) {
    if (leaf_of_key(field.key) == leaf_of_key(wrong) &&
        (!of_stages || !may_differ_by_part(field))) {
      return field.key;
    }
    keys.push_back(field.key);
  }
  if (of_stages) keys = all_part_keys();
  if (wrong.find('.') == std::string::npos) return nearest_section(wrong, keys);
  std::vector<std::string> own;  // of its section
  const auto section = std::string_view(wrong).substr(0, wrong.rfind('.') + 1);
  std::ranges::copy_if(keys, std::back_inserter(own),
                       [&](const std::string& key) { return key.starts_with(section); });
  if (const auto near = key_by_leaf(wrong, own)) return near;
  if (own.empty()) {
    if (const auto near = nearest_name(wrong, keys)) return near;
  }
  return key_by_leaf(wrong, keys);
}
}  // namespace

void SettingsReader::OnDocumentStart(const YAML::Mark& mark) {
  if (++documents_ > 1) fail(line_of(mark), "A second document begins; keep one in a file.");
}

void SettingsReader::OnNull(const YAML::Mark& mark, YAML::anchor_t) {
  if (levels_.empty() || levels_.back().skipped) return;  // an empty file sets nothing
  Level& level = levels_.back();
  if (level.list != nullptr || (level.item != nullptr && !level.at_key)) {
    const Field* field = level.list != nullptr ? level.list : level.item;
    fail(line_of(mark),
         fmt::format("{} holds an empty value; it takes {}.", field->key, field->allowed));
  }
  if (level.at_key) fail(line_of(mark), "A key is empty; write a setting such as 'seed: 7'.");
  if (level.its) {  // what the predecessor leaves open stays so
    value_done();
    return;
  }
  const Field* field = field_of(level.key);
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
  if (level.list != nullptr) {
    take_item(*level.list, line, {value, tag == "!"});
    return;
  }
  if (level.at_key) {
    take_key(line, value);
    return;
  }
  if (level.item != nullptr) {
    level.map.emplace_back(level.key, value);
    value_done();
    return;
  }
  take_value(line, {value, tag == "!"});
  value_done();
}

void SettingsReader::OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                                     YAML::EmitterStyle::value) {
  refuse_tag(line_of(mark), tag);
  if (!enter_list()) enter(line_of(mark), "a list");
}

void SettingsReader::OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                                YAML::EmitterStyle::value) {
  refuse_tag(line_of(mark), tag);
  if (levels_.empty()) {
    levels_.push_back({});
    return;
  }
  const Level& level = levels_.back();
  if (!level.skipped && !level.at_key && is_group(level.key)) {
    levels_.push_back({.prefix = level.key + "."});
    return;
  }
  if (!enter_item(line_of(mark))) enter(line_of(mark), "a map");
}

bool SettingsReader::enter_list() {
  if (levels_.empty() || levels_.back().skipped || levels_.back().at_key) return false;
  const Level& level = levels_.back();
  const Field* field = level.item == nullptr ? find_field(level.key) : nullptr;
  if (field == nullptr || !field->is_list()) return false;
  levels_.push_back({.key_line = level.key_line, .list = field});
  return true;
}

// A map that stands for one value, in a list or alone.
bool SettingsReader::enter_item(int line) {
  const Level& level = levels_.back();
  if (level.skipped || level.item != nullptr || (level.at_key && level.list == nullptr))
    return false;
  const Field* field = level.list != nullptr ? level.list : find_field(level.key);
  if (field == nullptr || !field->is_list()) return false;
  levels_.push_back({.key_line = line, .item = field});
  return true;
}

void SettingsReader::take_item(const Field& field, int line, Scalar value) {
  Level& level = levels_.back();
  const bool is_first = level.list == nullptr || level.count++ == 0;
  settings_.push_back({&field, std::move(value), {Origin::Kind::File, file_name_, line}, is_first});
}

void SettingsReader::take_item_key(int line, const std::string& key) {
  Level& level = levels_.back();
  const auto& known = level.item->item_keys;
  if (std::find(known.begin(), known.end(), key) == known.end()) {
    fail(line, fmt::format("A value of {} has no {}; it takes {}.", level.item->key, quote(key),
                           listed(known)));
  }
  const auto is_same = [&key](const auto& entry) { return entry.first == key; };
  if (std::any_of(level.map.begin(), level.map.end(), is_same)) {
    fail(line, fmt::format("{} stands here a second time; keep one of the two.", key));
  }
  level.key = key;
  level.at_key = false;
}

void SettingsReader::take_item_map(const Level& level) {
  const auto text = corpus_source_text(level.map);
  if (!text) {
    fail(level.key_line,
         fmt::format("A value of {} has no path; write one as in 'path: DIR'.", level.item->key));
  }
  take_item(*level.item, level.key_line, {*text, true});
}

// A list or a map where a single value belongs: only below a key that means nothing here.
void SettingsReader::enter(int line, std::string_view what) {
  if (levels_.empty()) {
    fail(line, fmt::format("The file holds {} and no settings; write lines such as 'seed: 7' "
                           "below a line 'train:'.",
                           what));
  }
  const Level& level = levels_.back();
  if (const Field* list = level.list != nullptr ? level.list : level.item; list != nullptr) {
    fail(line, fmt::format("A value of {} is {}; it takes {}.", list->key, what, list->allowed));
  }
  if (levels_.size() >= kMostLevels)
    fail(line,
         "The file is nested too deeply; settings have two levels, as in 'train:' and 'seed: 7'.");
  const bool means_nothing = !level.at_key && level.its && level.its->field == nullptr;
  if (level.skipped || means_nothing) {
    levels_.push_back({.prefix = {}, .skipped = true});
    return;
  }
  if (level.at_key)
    fail(line, fmt::format("A key is {}; write a setting such as 'seed: 7'.", what));
  const Field* field = level.its ? level.its->field : field_of(level.key);
  fail(level.key_line, fmt::format("{} takes {}, but was given {}.", level.key,
                                   field != nullptr ? field->allowed : "settings by name", what));
}

void SettingsReader::leave() {
  const Level left = std::move(levels_.back());
  levels_.pop_back();
  if (left.item != nullptr) take_item_map(left);
  if (left.list != nullptr && left.count == 0) {
    take_item(*left.list, left.key_line, {left.list->absent_word, false});
  }
  if (!levels_.empty() && !levels_.back().skipped) value_done();
}

void SettingsReader::value_done() {
  levels_.back().at_key = true;
}

void SettingsReader::take_key(int line, const std::string& key) {
  Level& level = levels_.back();
  if (level.item != nullptr) {
    take_item_key(line, key);
    return;
  }
  level.key = level.prefix + key;
  level.key_line = line;
  level.at_key = false;
  const bool is_ours = field_of(level.key) != nullptr || is_group_of_parts(level.key) ||
                       (level.prefix.empty() && is_section(level.key));
  const bool is_its_section = level.prefix.empty() && is_predecessor_section(level.key);
  level.its = is_ours || is_its_section ? std::nullopt : predecessor_key(level.key);
  if (!is_ours && !is_its_section && !level.its) {
    if (!level.key.starts_with("data.")) fail_unknown(line, level.key);
    if (!unknown_) unknown_ = {line, level.key};  // no fault in a file of the predecessor
    level.its = PredecessorKey{.reason = kUnknownKey};
  }
  if (!seen_.insert(level.key).second || set_by_its_keys_.contains(level.key)) {
    fail(line, fmt::format("{} stands here a second time; keep one of the two.", level.key));
  }
  is_predecessors_ = is_predecessors_ || is_its_section;
  if (level.its) take_its_key(level);
}

void SettingsReader::take_its_key(const Level& level) {
  if (const Field* field = level.its->field) {
    if (seen_.contains(field->key)) {
      fail(level.key_line, fmt::format("{} stands here a second time, as {}; keep one of the two.",
                                       field->key, level.key));
    }
    set_by_its_keys_.insert(field->key);
    return;
  }
  const std::string_view reason = level.its->reason;
  auto found =
      std::ranges::find(left_alone_, reason, [](const auto& group) { return group.first; });
  if (found == left_alone_.end()) found = left_alone_.insert(found, {reason, {}});
  found->second.push_back(level.key);
}

void SettingsReader::take_value(int line, const Scalar& value) {
  const Level& level = levels_.back();
  if (level.its) return take_its_value(level, value);
  const Origin origin{Origin::Kind::File, file_name_, level.key_line};
  if (const Field* field = find_field(level.key)) {
    settings_.push_back({field, value, origin});
  } else if (const auto found = find_part_key(level.key)) {
    settings_.push_back({found->first, value, origin, true, found->second});
  } else if (is_group(level.key)) {
    fail(line, fmt::format("{} takes settings by name on indented lines, but was given {}.",
                           level.key, quote(value.text)));
  }
}

void SettingsReader::take_its_value(const Level& level, const Scalar& value) {
  if (level.its->field == nullptr) return;
  const auto ours = predecessor_value(level.key, value.text);
  if (!ours) return;
  settings_.push_back({level.its->field,
                       {*ours, value.quoted},
                       {Origin::Kind::File, file_name_, level.key_line, level.key}});
}

namespace {

// The setting further down that wins where both are keys of the predecessor's for one of ours;
// null: there is none.
const Setting* winner_over(const Setting& setting, std::span<const Setting> below) {
  const auto found = std::ranges::find_if(below, [&setting](const Setting& other) {
    return other.field == setting.field && !other.origin.as.empty() &&
           other.value.text != setting.value.text;
  });
  return setting.origin.as.empty() || found == below.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Setting> SettingsReader::take_settings() {
  if (unknown_ && !is_predecessors_) fail_unknown(unknown_->first, unknown_->second);
  std::vector<Setting> allowed;
  for (Setting& setting : settings_) {
    const std::string& key = setting.origin.as.empty() ? setting.field->key : setting.origin.as;
    RunConfig tried;
    if (is_predecessors_ && !setting.field->assign(setting.value, tried)) {
      without_effect_.push_back(fmt::format("{} {} ({} takes {})", key, quote(setting.value.text),
                                            setting.field->key, setting.field->allowed));
      continue;
    }
    allowed.push_back(std::move(setting));
  }
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const Setting& setting = allowed[i];
    if (setting.origin.as.empty()) continue;
    if (const Setting* winner = winner_over(setting, std::span(allowed).subspan(i + 1))) {
      without_effect_.push_back(fmt::format("{} {} ({}, further down, sets {} too)",
                                            setting.origin.as, quote(setting.value.text),
                                            winner->origin.as, setting.field->key));
    } else {
      read_as_.push_back(fmt::format("{} ({})", setting.origin.as, setting.field->key));
    }
  }
  return allowed;
}

std::vector<std::string> SettingsReader::notes() const {
  std::vector<std::string> sentences;
  if (!read_as_.empty()) {
    sentences.push_back(fmt::format("{}: keys read as those in brackets: {}.", file_name_,
                                    fmt::join(read_as_, ", ")));
  }
  for (const auto& [reason, keys] : left_alone_) {
    sentences.push_back(fmt::format("{}: {} {} no meaning here: {}.", file_name_,
                                    fmt::join(keys, ", "), keys.size() == 1 ? "has" : "have",
                                    reason));
  }
  if (!without_effect_.empty()) {
    sentences.push_back(
        fmt::format("{}: without effect: {}.", file_name_, fmt::join(without_effect_, ", ")));
  }
  return sentences;
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
