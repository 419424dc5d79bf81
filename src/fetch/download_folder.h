// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "fetch/http_file.h"

namespace myxtts {

// The folder in which the public files of one model gather until they are imported. It belongs to
// one process at a time; what is in it stays when that ends, however it does.
class DownloadFolder {
 public:
  // Makes the folder where it is missing. Throws DataError where that cannot be, and where another
  // process has it; `model` is for the sentence.
  DownloadFolder(std::filesystem::path path, const std::string& model);
  DownloadFolder(const DownloadFolder&) = delete;
  DownloadFolder& operator=(const DownloadFolder&) = delete;
  ~DownloadFolder();  // removes it where it is empty

  const std::filesystem::path& path() const { return path_; }

  // Throws DataError where the disk has no room for what is missing of the files and for the model
  // that is made of them.
  void require_room(std::span<const RemoteFile> files) const;

  // With everything in it.
  void remove();

 private:
  const std::filesystem::path path_;
  int lock_ = -1;  // the folder itself, open and locked
};

}  // namespace myxtts
