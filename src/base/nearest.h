// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace myxtts {

// The known name that the writer of `wrong` most likely meant, or nothing when none is close
// enough to be a slip of the keyboard. Letter case does not count, `-` and `_` are the same, two
// neighbours swapped count as one slip; of equally near names the first in `known` is taken.
std::optional<std::string> nearest_name(std::string_view wrong, std::span<const std::string> known);

}  // namespace myxtts
