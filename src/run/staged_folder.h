// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace myxtts {

// Throws ConfigError where what is read would be replaced by what is written.
void require_other_folder(const std::filesystem::path& source, const std::filesystem::path& target);

// A folder that appears whole or not at all: files are written into path(), a temporary folder
// beside the target, which commit() gives the target's name.
class StagedFolder {
 public:
  // Throws DataError if --out cannot be written, and ConfigError if the target exists, unless
  // `replace` is set; even then if it holds anything but files named in `replaceable`, so that no
  // other folder is ever lost.
  StagedFolder(const std::filesystem::path& target, bool replace,
               const std::set<std::string>& replaceable);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  // Without commit(): the target and the folders above it are as they were before.
  ~StagedFolder();

  std::filesystem::path operator/(const std::string& name) const { return staging_ / name; }
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path staging_;
  std::filesystem::path above_;  // the deepest folder that was there before
};

}  // namespace myxtts
