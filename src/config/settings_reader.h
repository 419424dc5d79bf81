// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include "config/effective_config.h"
#include "config/predecessor.h"

namespace myxtts {

// Collects settings while yaml-cpp walks through a file. It keeps no tree, so a file cannot make it
// grow: aliases are refused where they stand, and so is nesting deeper than a setting.
//
// Every on-method throws ConfigError, naming the file and the line, at the first thing that is not
// a setting.
class SettingsReader final : public YAML::EventHandler {
 public:
  explicit SettingsReader(std::string file_name) : file_name_(std::move(file_name)) {}

  // After the last event. In a file of the predecessor a value that is not allowed here has no
  // effect, and notes() says so.
  std::vector<Setting> take_settings();

  // Sentences about keys of the predecessor: what they were read as, and which mean nothing.
  std::vector<std::string> notes() const;

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
    std::optional<PredecessorKey> its = {};  // of the key, where it is not ours

    // Below a setting that is a list: the list itself, or a map that stands for one of its values.
    const Field* list = nullptr;
    const Field* item = nullptr;
    std::vector<std::pair<std::string, std::string>> map = {};
    int count = 0;  // values of the list
  };

  void take_key(int line, const std::string& key);
  void take_its_key(const Level& level);
  void take_value(int line, const Scalar& value);
  void take_its_value(const Level& level, const Scalar& value);
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

  // Of the predecessor.
  bool is_predecessors_ = false;                        // the file has a section that only that had
  std::optional<std::pair<int, std::string>> unknown_;  // line and key; refused if it is not
  std::set<std::string, std::less<>> set_by_its_keys_;
  std::vector<std::string> read_as_;  // "training.learning_rate (train.lr)"
  std::vector<std::pair<std::string_view, std::vector<std::string>>> left_alone_;  // by reason
  std::vector<std::string> without_effect_;
};

// From 1.
int line_of(const YAML::Mark& mark);

}  // namespace myxtts
