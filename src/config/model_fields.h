// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/model.h"

namespace myxtts {

// Where the numbers of a ModelConfig stand in config.json: the tables that its reader, its writer
// and its messages share.

// A number of "model_args".
struct ArgumentField {
  const char* key;
  const char* field;    // ours, for messages
  std::int64_t absent;  // what the Python peer takes where the key is missing
  std::int64_t most;    // a larger value is a damaged file
  std::int64_t& (*in)(ModelConfig&);
};
std::span<const ArgumentField> argument_fields();

// A number or a list of numbers of one network in our own section.
struct NetworkField {
  const char* network;  // "dvae"
  const char* key;
  std::int64_t* (*number)(ModelConfig&);             // null for a list
  std::vector<std::int64_t>* (*list)(ModelConfig&);  // null for a number
};
std::span<const NetworkField> network_fields();

}  // namespace myxtts
