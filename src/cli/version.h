// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace myxtts {

// What `--version` prints: ours, then the libraries this process really runs on, a line each.
std::string describe_version();

}  // namespace myxtts
