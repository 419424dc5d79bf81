// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace myxtts {

// A run directory that was found.
struct FoundRun {
  std::string id;  // its path from the folder it was found in, unique among all
  std::filesystem::path folder;
  std::string chain = {};  // id of the run of several stages that it is part of; empty: none
};

// Whether a folder is a run directory, or what is left of one.
bool looks_like_a_run(const std::filesystem::path& folder);

// The runs in these folders and a few levels below them; a folder may be a run itself. Links are
// not followed, so that nothing outside is found. Folders that cannot be read are passed over.
std::vector<FoundRun> find_runs(const std::vector<std::filesystem::path>& folders);

}  // namespace myxtts
