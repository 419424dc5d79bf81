// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace myxtts {

// The page of runs, made of the files in page/ when the program is built.
extern const std::string_view kWatchPage;

}  // namespace myxtts
