// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace myxtts {

// The folder of text data named `name` ("pypinyin", "unidic"), fetched by tools/setup: looked for
// in $MYXTTS_TEXT_DATA, then beside the program (share/myxtts/text), then in the checkout it was
// built in.
std::optional<std::filesystem::path> find_text_data(std::string_view name);

}  // namespace myxtts
