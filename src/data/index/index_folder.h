// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "data/index/clip_index.h"
#include "data/index/corpus_scan.h"

namespace myxtts {

// Makes the folder and those above it where they are missing. Throws DataError with a remedy.
void make_folder(const std::filesystem::path& folder);

// The index of a corpus as it is now, in the folder where a run keeps those of its corpora: opened
// where that is enough, otherwise made anew from what is still right of the old one, with a line of
// log that says why. Throws DataError when the folder cannot be written to.
//
// Any number of processes may use one folder: an index appears whole or not at all, and one process
// scans while the others wait for it.
ClipIndex open_index(const std::filesystem::path& folder, const ScanRequest& request);

// The file that it is in.
std::filesystem::path index_file(const std::filesystem::path& folder, const ScanRequest& request);

}  // namespace myxtts
