// SPDX-License-Identifier: Apache-2.0
#include "data/index/file_stamp.h"

#include <sys/stat.h>

namespace myxtts {

FileStamp stamp_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {
      .size = status.st_size,
      .changed_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace myxtts
