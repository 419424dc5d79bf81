// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace myxtts {

// Every file below a folder, sorted by path. Links are followed, but no folder is entered twice;
// names that start with a full stop are left alone. Throws DataError where a folder cannot be read.
std::vector<std::string> files_below(const std::filesystem::path& folder);

// The same, ending after the first `most` files in the order of the disk.
std::vector<std::string> some_files_below(const std::filesystem::path& folder, std::size_t most);

}  // namespace myxtts
