// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/files.h"

namespace myxtts {

// What to do about files that are not what they should be, in words for messages.

// What a file is that came in place of the one that was meant, by its first bytes, and how to get
// that one: "a git-lfs pointer ...", "a web page ..."; empty: nothing of the kind.
std::string placeholder_of(std::string_view start);

// Throws DataError for such a file.
void require_no_placeholder(const MappedFile& file);

// What lets the user read or write a path that the system refuses, as one sentence: chmod for what
// is the user's own, another place for what belongs to somebody else (or chown, where that is a
// person and the very path that was named), and for root, whom no permission stops, another place.
enum class FileUse { Read, Write };
std::string permission_remedy(const std::filesystem::path& path, FileUse use);

}  // namespace myxtts
