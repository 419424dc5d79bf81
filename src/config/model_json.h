// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"

namespace myxtts {

// A number or a list of numbers of one network in our own section.
struct NetworkField {
  const char* network;  // "dvae"
  const char* key;
  std::int64_t* (*number)(ModelConfig&);             // null for a list
  std::vector<std::int64_t>* (*list)(ModelConfig&);  // null for a number
};
std::span<const NetworkField> network_fields();

// config.json of a model directory: what the public file says, as it says it, and a section
// "myxtts" for what the public file has no place for.
//
// The public file is not strict JSON: it has the bare words Infinity, -Infinity and NaN. They are
// read anywhere here; in our files they stand as texts, so that ours are strict.
//
// `subject` names the file in messages; all of these throw DataError.

// How reference clips are cut, in seconds.
struct ReferenceConfig {
  double max_ref_len = 10.0;        // what is used of each file
  double gpt_cond_len = 12.0;       // what the conditioning latents are made of
  double gpt_cond_chunk_len = 4.0;  // a piece of it
  bool sound_norm_refs = false;

  bool operator==(const ReferenceConfig&) const = default;
};

// What the vocabulary decides about the GPT.
struct TextIds {
  std::int64_t count = 0;  // the largest id + 1
  std::int64_t start = 0;
  std::int64_t stop = 0;
};

// The terms that weights came under.
struct Licence {
  std::string name;  // the first line of the licence file, what the user called it, or "unknown"
  std::string file = {};  // beside config.json; empty: there is none
  bool accepted = false;  // by the person who imported the weights
};

// The sizes. Where the text ids are null, as in the public file, the public ones are assumed: the
// vocabulary has the last word, see with_text_ids().
ModelConfig parse_model_config(std::string_view json, const std::string& subject);
ReferenceConfig parse_reference_config(std::string_view json, const std::string& subject);
Licence parse_licence(std::string_view json, const std::string& subject);

// A config.json for a model that did not come from a public file.
std::string print_model_config(const ModelConfig& config);

// The same config.json, as ours, with something added to its section "myxtts". Numbers that the
// public part has for the text ids are replaced too, so that the two never disagree.
std::string with_text_ids(std::string_view json, const TextIds& ids, const std::string& subject);
std::string with_licence(std::string_view json, const Licence& licence, const std::string& subject);

// The same config.json as coqui-tts wants it: without our section, with bare Infinity.
std::string public_config(std::string_view json, const std::string& subject);

// What a field such as "gpt.width" is called in config.json, for messages.
std::string config_json_name(std::string_view field);

}  // namespace myxtts
