// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "config/effective_config.h"
#include "config/part_settings.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kObsolete{{
    {"data.use_tf_native_loading", "there is one loader, and it is native"},
    {"data.prefetch_to_gpu", "batches always wait on the model device"},
    {"data.enhanced_gpu_prefetch", "batches always wait on the model device"},
    {"data.optimize_cpu_gpu_overlap", "data work and training always overlap"},
    {"data.pin_memory", "what is copied to a GPU is always pinned"},
    {"data.enable_xla", "there is no XLA; see train.enable_static_shapes"},
    {"data.mixed_precision", "train.precision decides the arithmetic"},
    {"data.preprocessing_mode", "data.cache_dataset decides whether features are kept"},
    {"data.enable_memory_mapping", "the feature cache chooses how it is read"},
    {"data.cache_verification", "the feature cache is always verified"},
    {"data.shuffle_buffer_multiplier", "clips are drawn from the whole corpus, without a buffer"},
    {"data.pad_to_fixed_length", "batches are packed; see train.enable_static_shapes"},
    {"data.pad_to_multiple", "batches are packed, not padded"},
}};

// Why a key of the TensorFlow predecessor's files has nothing to set any more; empty for any other
// key. Such keys are read and left alone, so that old files keep working.
std::string_view reason_obsolete(std::string_view key) {
  for (const auto& [name, reason] : kObsolete) {
    if (name == key) return reason;
  }
  return {};
}

// Collects settings while yaml-cpp walks through a file. It keeps no tree, so a file cannot make it
// grow: aliases are refused where they stand, and so is nesting deeper than a setting.
//
// Every on-method throws ConfigError, naming the file and the line, at the first thing that is not
// a setting.
class SettingsReader final : public YAML::EventHandler {
 public:
  explicit SettingsReader(std::string file_name) : file_name_(std::move(file_name)) {}

  std::vector<Setting> take_settings() { return std::move(settings_); }

  // A sentence for each obsolete key that was left alone.
  const std::vector<std::string>& notes() const { return notes_; }

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override { leave(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override { leave(); }

 private:
  // A map being read, or something inside a key that is skipped.
  struct Level {
    std::string prefix = {};  // "data." inside the section data
    bool skipped = false;
    bool at_key = true;    // of a map that is not skipped
    std::string key = {};  // full, once it was read
    int key_line = 0;

    // Below a setting that is a list: the list itself, or a map that stands for one of its values.
    const Field* list = nullptr;
    const Field* item = nullptr;
    std::vector<std::pair<std::string, std::string>> map = {};
    int count = 0;  // values of the list
  };

  void take_key(int line, const std::string& key);
  void take_value(int line, const Scalar& value);
  void enter(int line, std::string_view what);
  bool enter_list();
  bool enter_item(int line);
  void take_item(const Field& field, int line, Scalar value);
  void take_item_key(int line, const std::string& key);
  void take_item_map(const Level& level);
  void leave();
  void value_done();
  void refuse_tag(int line, const std::string& tag) const;
  [[noreturn]] void fail(int line, const std::string& sentence) const;
  [[noreturn]] void fail_unknown(int line, const std::string& key) const;

  const std::string file_name_;
  int documents_ = 0;
  std::vector<Level> levels_;
  std::set<std::string, std::less<>> seen_;
  std::vector<Setting> settings_;
  std::vector<std::string> notes_;
};

constexpr std::size_t kMostLevels = 16;

int line_of(const YAML::Mark& mark) {
  return mark.is_null() ? 1 : mark.line + 1;
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

// The setting of a key, wherever it stands.
const Field* field_of(const std::string& key) {
  if (const Field* field = find_field(key)) return field;
  const auto found = find_part_key(key);
  return found ? found->first : nullptr;
}

bool is_group(const std::string& key) {
  return is_section(key) || is_group_of_parts(key);
}

// The known key that was most likely meant: one with the same last part, else the nearest spelling.
std::optional<std::string> nearest_key(const std::string& wrong) {
  constexpr std::size_t kLongestKey = 100;  // beyond it, comparing only costs time
  if (wrong.size() > kLongestKey) return std::nullopt;
  const auto leaf = [](std::string_view key) { return key.substr(key.rfind('.') + 1); };
  std::vector<std::string> known = section_names();
  const bool of_stages = wrong.starts_with("stages.");
  for (const Field& field : all_fields()) {
    if (leaf(field.key) == leaf(wrong) && (!of_stages || !may_differ_by_part(field))) {
      return field.key;
    }
    known.push_back(field.key);
  }
  if (of_stages) known = all_part_keys();
  return nearest_name(wrong, known);
}

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

// A list or a map where a single value belongs: only below an obsolete key.
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
  if (level.skipped || (!level.at_key && !reason_obsolete(level.key).empty())) {
    levels_.push_back({.prefix = {}, .skipped = true});
    return;
  }
  if (level.at_key)
    fail(line, fmt::format("A key is {}; write a setting such as 'seed: 7'.", what));
  const Field* field = field_of(level.key);
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
  const std::string_view reason = reason_obsolete(level.key);
  const bool known = field_of(level.key) != nullptr || !reason.empty() ||
                     (level.prefix.empty() && is_section(level.key)) ||
                     is_group_of_parts(level.key);
  if (!known) fail_unknown(line, level.key);
  if (!seen_.insert(level.key).second) {
    fail(line, fmt::format("{} stands here a second time; keep one of the two.", level.key));
  }
  if (!reason.empty()) {
    notes_.push_back(fmt::format("{}:{}: {} is no longer needed and was left alone: {}.",
                                 file_name_, line, level.key, reason));
  }
}

void SettingsReader::take_value(int line, const Scalar& value) {
  const Level& level = levels_.back();
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

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string read_bytes(const std::filesystem::path& path, const std::string& name) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status)) {
    throw ConfigError(
        fmt::format("There is no config file {}; give --config the path of a YAML file.", name));
  }
  if (std::filesystem::is_directory(status)) {
    throw ConfigError(fmt::format("{} is a folder; give --config the path of a YAML file.", name));
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kMostBytes + 1, '\0');
  if (!file || file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())).bad()) {
    throw ConfigError(fmt::format(
        "The config file {} cannot be read; check its permissions or give another.", name));
  }
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.size() > kMostBytes) {
    throw ConfigError(fmt::format(
        "The config file {} is larger than 1 MB; give --config a YAML file of settings.", name));
  }
  return bytes;
}

// The control characters that YAML knows are those of lines and tabs.
bool is_yaml_text(std::string_view bytes) {
  for (const char c : bytes) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 && c != '\n' && c != '\r' && c != '\t') return false;
  }
  return is_text(bytes);
}

// YAML does not allow tabs for indentation, and yaml-cpp misreads such lines without a word.
void refuse_tabs(const std::string& bytes, const std::string& name) {
  std::istringstream lines(bytes);
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    const std::size_t text = line.find_first_not_of(" \t\r");
    if (text == std::string::npos || line.substr(0, text).find('\t') == std::string::npos) continue;
    throw ConfigError(fmt::format("{}:{}: {} is indented with a tab; use spaces.", name, number,
                                  quote(line.substr(text))));
  }
}

void parse(const std::string& bytes, const std::string& name, SettingsReader& reader) {
  std::istringstream stream(bytes);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(reader)) {
    }
  } catch (const YAML::Exception& error) {
    throw ConfigError(
        fmt::format("{}:{}: This is not valid YAML ({}); write lines such as "
                    "'seed: 7' below a line 'train:'.",
                    name, line_of(error.mark), error.msg));
  }
}

}  // namespace

std::vector<Setting> read_config_file(const std::filesystem::path& path) {
  const std::string name = one_line(path.string());
  std::string bytes = read_bytes(path, name);
  if (bytes.starts_with(kByteOrderMark)) bytes.erase(0, kByteOrderMark.size());
  if (!is_yaml_text(bytes)) {
    throw ConfigError(fmt::format(
        "The config file {} is not UTF-8 text; save it as UTF-8 or give another.", name));
  }
  refuse_tabs(bytes, name);
  SettingsReader reader(name);
  parse(bytes, name, reader);
  for (const std::string& note : reader.notes()) log_info("config", "{}", note);
  return reader.take_settings();
}

}  // namespace myxtts
