// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace myxtts {

// A folder of one's own below the system's place for temporary files, gone with everything in it at
// the end of scope.
class ScratchFolder {
 public:
  // Throws DataError when it cannot be made.
  explicit ScratchFolder(const std::string& name);  // "profile": .../myxtts-profile-XXXXXX
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace myxtts
