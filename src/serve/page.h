// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace myxtts {

// The page at /, made of the files in page/ when the program is built.
extern const std::string_view kServerPage;

}  // namespace myxtts
