// SPDX-License-Identifier: Apache-2.0
#include "fetch/download_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

bool is_same(int open_folder, const fs::path& path) {
  struct stat opened {};
  struct stat there {};
  return ::fstat(open_folder, &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
         opened.st_ino == there.st_ino && opened.st_dev == there.st_dev;
}

}  // namespace

DownloadFolder::DownloadFolder(fs::path path, const std::string& model) : path_(std::move(path)) {
  // Whoever had the folder may remove it between our opening and locking it.
  do {
    if (lock_ >= 0) ::close(lock_);
    std::error_code failed;
    fs::create_directories(path_, failed);
    const bool can_be_filled = !failed && ::access(path_.c_str(), W_OK | X_OK) == 0;
    lock_ = can_be_filled ? ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (lock_ < 0) {
      throw DataError(
          fmt::format("Models cannot be kept in {}: {}. Type export XDG_DATA_HOME=\"$PWD\", or "
                      "another folder of yours, in every shell that uses them.",
                      path_.parent_path().string(),
                      failed ? failed.message() : std::generic_category().message(errno)));
    }
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(lock_);
      throw DataError(
          fmt::format("Another myxtts pull fetches {} right now. Wait for its end, or "
                      "end it and type the same command again.",
                      model));
    }
  } while (!is_same(lock_, path_));
}

DownloadFolder::~DownloadFolder() {
  ::rmdir(path_.c_str());  // does nothing where a file is in it
  ::close(lock_);
}

void DownloadFolder::require_room(std::span<const RemoteFile> files) const {
  std::uint64_t needed = 0;
  for (const RemoteFile& file : files) {
    const std::uint64_t size = file.size.value_or(0);
    const std::uint64_t present = bytes_present(file, path_);
    needed += 2 * size - std::min(present, size);  // once as it comes, once in the model
  }
  std::error_code unknown;
  const fs::space_info space = fs::space(path_, unknown);
  if (unknown || space.available >= needed) return;
  throw DataError(
      fmt::format("The disk of {} has {} free, and the model takes {} while it is fetched "
                  "and imported. Free some space, or set XDG_DATA_HOME to a folder on "
                  "another disk.",
                  path_.string(), human_size(space.available), human_size(needed)));
}

void DownloadFolder::remove() {
  fs::remove_all(path_);
}

}  // namespace myxtts
