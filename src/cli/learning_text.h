// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace myxtts {

// The lines of a file that hold something, clean: as the rules of `language` have it, or, where we
// have none, without quotes, in lower case and with single spaces. Throws DataError for a file that
// cannot be read or holds no text.
std::vector<std::string> read_learning_text(const std::filesystem::path& path,
                                            const std::string& language);

}  // namespace myxtts
