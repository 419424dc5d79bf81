// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace myxtts {

// Dates, sums of money, telephone numbers, fractions, percentages and plain numbers in Chinese
// characters; then every mark of punctuation as a comma. `text` is valid UTF-8.
std::string expand_chinese_numbers(std::string_view text);

}  // namespace myxtts
