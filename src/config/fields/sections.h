// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config/field.h"

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
