// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace myxtts {

// Writes to standard output. Throws DataError when it cannot be written, e.g. on a full disk; where
// nobody reads it any more it is lost.
void print(std::string_view text);

// One line on standard error, whatever the message holds.
void report_error(std::string_view message) noexcept;

}  // namespace myxtts
