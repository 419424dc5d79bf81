// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace myxtts {

// The whole file, as it is. `what` names its role in the sentence of a DataError: "The vocabulary
// x.json does not exist. ...". A file above `limit` bytes is refused before it is read.
std::string read_text_file(const std::filesystem::path& path, const std::string& what,
                           std::size_t limit);

}  // namespace myxtts
