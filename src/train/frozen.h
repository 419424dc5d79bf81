// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace myxtts {

// Whether a name fits a pattern in which * stands for any characters, also none.
bool fits_pattern(std::string_view name, std::string_view pattern);

// The names that a pattern of --freeze fits. Throws ConfigError for a pattern that fits none, with
// the name that was most likely meant, and when nothing is left to train.
std::set<std::string, std::less<>> frozen_names(std::span<const std::string> names,
                                                std::span<const std::string> patterns);

}  // namespace myxtts
