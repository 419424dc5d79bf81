// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "data/index/clip_index.h"
#include "data/index/corpus_scan.h"

namespace myxtts {

// Makes the folder and those above it where they are missing. Throws DataError with a remedy.
void make_folder(const std::filesystem::path& folder);

// The folder where a run keeps the indexes of its corpora. Any number of processes may use one: an
// index appears whole or not at all, and one process scans while the others wait for it.
class IndexFolder {
 public:
  explicit IndexFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // The index of a corpus as it is now: opened where that is enough, otherwise made anew from what
  // is still right of the old one, with a line of log that says why. Throws DataError when the
  // folder cannot be written to.
  ClipIndex open(const ScanRequest& request) const;

  std::filesystem::path path_of(const ScanRequest& request) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace myxtts
