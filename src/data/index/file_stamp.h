// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "data/clip.h"

namespace myxtts {

// What the file or folder is now; size -1 where there is none.
FileStamp stamp_of(const std::string& path);

// The same for many files, one folder after another: the system walks down to a folder only once.
class StampReader {
 public:
  StampReader() = default;
  StampReader(const StampReader&) = delete;
  StampReader& operator=(const StampReader&) = delete;
  ~StampReader();

  FileStamp operator()(std::string_view path);

 private:
  void enter(std::string_view folder);

  std::string folder_;
  std::string name_;
  int opened_ = -1;  // folder_; -1: not yet, or it cannot be
};

}  // namespace myxtts
