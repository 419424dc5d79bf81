// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.h"

namespace myxtts {

// A value as a person writes it.
struct Scalar {
  std::string text;
  // In quotes: taken as it stands, so that a folder may be called "none".
  bool quoted = false;
};

// One setting: its names, its limits, and its place in RunConfig. Reading YAML, flags, printing and
// the reference all follow from the table of these.
struct Field {
  std::string key;                    // "data.num_workers"
  std::string flag;                   // "--num-workers"
  std::string negative_flag;          // "--no-cache-dataset"; only for switches
  std::string bare_value;             // what the flag means without a value; empty: it needs one
  std::string placeholder;            // "N" in "--num-workers N"
  std::string group;                  // heading in the help
  std::string sentence;               // what it is for
  std::vector<std::string> commands;  // those that have the flag
  std::string allowed;                // "a whole number from 1 to 1024, or auto"
  std::vector<std::string> choices;   // the words that may be written, where there are such
  std::string absent_word;            // "auto" or "none"; empty: the setting always has a value

  // Sets the member, or gives false and leaves it alone when the text is not allowed.
  std::function<bool(const Scalar& value, RunConfig& config)> assign;
  // What assign() would turn into the present value.
  std::function<Scalar(const RunConfig& config)> value_of;

  // Only a setting that may be written several times has these. assign() then adds one more to what
  // was there, and clear() comes before the first.
  std::function<void(RunConfig& config)> clear = {};
  std::function<std::vector<Scalar>(const RunConfig& config)> values_of = {};
  std::vector<std::string> item_keys = {};  // of the map that may stand for one value

  bool is_list() const { return clear != nullptr; }
};

// Every setting, section by section, in the order of the printed file.
std::span<const Field> all_fields();

// Null when there is no such setting.
const Field* find_field(std::string_view key);

// The section of a key: "data" of "data.num_workers".
std::string_view section_of(std::string_view key);

}  // namespace myxtts
