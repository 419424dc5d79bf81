// SPDX-License-Identifier: Apache-2.0
#include "data/index/file_stamp.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace myxtts {
namespace {

FileStamp stamp_at(int folder, const std::string& name) {
  struct stat status {};
  if (fstatat(folder, name.c_str(), &status, 0) != 0) return {};
  return {
      .size = status.st_size,
      .changed_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  return stamp_at(AT_FDCWD, path);
}

StampReader::~StampReader() {
  if (opened_ >= 0) close(opened_);
}

void StampReader::enter(std::string_view folder) {
  if (opened_ >= 0 && folder == folder_) return;
  if (opened_ >= 0) close(opened_);
  folder_ = folder;
  opened_ = open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

FileStamp StampReader::operator()(std::string_view path) {
  const auto slash = path.rfind('/');
  name_ = path;
  if (slash == std::string_view::npos || slash == 0) return stamp_of(name_);
  enter(path.substr(0, slash));
  if (opened_ < 0) return stamp_of(name_);
  name_ = path.substr(slash + 1);
  return stamp_at(opened_, name_);
}

}  // namespace myxtts
