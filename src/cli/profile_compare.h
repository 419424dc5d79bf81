// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/effective_config.h"

namespace myxtts {

struct CompareArguments {
  std::optional<std::string> json = {};    // a file, or "-"
  std::optional<std::int64_t> steps = {};  // to measure in each; nothing: a few dozen
};

// `myxtts profile --compare`: the table of --mode auto, and no training. Gives the exit code: 0, or
// 1 where nothing could be measured. Throws ConfigError for settings that name a placement.
int compare_and_tell(EffectiveConfig settings, const CompareArguments& arguments);

}  // namespace myxtts
