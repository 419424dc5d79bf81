// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace myxtts {

// Gives the folder `staged` the name `target`. A folder that has that name changes places with it,
// so that there is no moment without one. Both on one disk. Throws DataError.
void put_folder(const std::filesystem::path& staged, const std::filesystem::path& target);

// The same for disks that cannot exchange two names, as NFS: there is a moment in which neither has
// it.
void put_folder_in_steps(const std::filesystem::path& staged, const std::filesystem::path& target);

}  // namespace myxtts
