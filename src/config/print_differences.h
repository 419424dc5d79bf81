// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "config/run_config.h"

namespace myxtts {

// YAML with those settings alone that are not the default. read_config_file() gives them back.
std::string print_differences(const RunConfig& config);

}  // namespace myxtts
