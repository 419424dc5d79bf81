// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/error.h"

namespace myxtts {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// The sentence for a failed write of `path`, with what to do about it.
[[noreturn]] void fail_write(const std::filesystem::path& path, int code) {
  const std::string file = path.string();
  const std::string folder = folder_of(path).string();
  const auto fail = [&file](const std::string& rest) {
    throw DataError(fmt::format("{} cannot be written: {}", file, rest));
  };
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      fail(
          fmt::format("the disk of {} is full. Free some space (see df -h {}), or give a path on "
                      "another disk.",
                      folder, folder));
      break;
    case EFBIG:
      fail(
          "it would be larger than this disk or the limit of this shell allows. See ulimit -f, or "
          "give a path on another disk.");
      break;
    case EACCES:
    case EPERM:
      fail(
          fmt::format("you may not write to the folder {}. Give a path in a folder of yours, or "
                      "change its permissions with chmod.",
                      folder));
      break;
    case EROFS:
      fail(
          fmt::format("the disk of {} is mounted read-only. Give a path on another disk.", folder));
      break;
    case ENOENT:
      fail(
          fmt::format("the folder {} does not exist. Make it with mkdir -p '{}'.", folder, folder));
      break;
    case ENOTDIR:
      fail(fmt::format("{} is not a folder. Give a path in a folder that exists.", folder));
      break;
    case ENAMETOOLONG:
      fail("its name is too long. Give a shorter one.");
      break;
    default:
      break;
  }
  throw DataError(fmt::format("{} cannot be written: {}. Check the disk, or give another path.",
                              file, std::generic_category().message(code)));
}

// Follows a symbolic link, so that the file it points to is replaced and not the link. Refuses what
// is no plain file: renaming over a folder or /dev/null would do harm.
std::filesystem::path target_of(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path target = path;
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) {
    target = std::filesystem::weakly_canonical(path, error);
    if (error) fail_write(path, error.value());
  }
  const auto status = std::filesystem::status(target, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw DataError(
        fmt::format("{} cannot be written: it is {}. Give the path of a file.", path.string(),
                    std::filesystem::is_directory(status) ? "a folder" : "a device or a pipe"));
  }
  return target;
}

// Unused by any other thread or living process of this machine; the caller retries when a dead one
// left it behind.
std::filesystem::path new_temporary_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> next{0};
  return folder_of(path) / fmt::format(".myxtts-tmp-{}-{}", getpid(), next++);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(target_of(path)) {
  do {
    temporary_ = new_temporary_name(path_);
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) fail_write(path_, errno);
  struct stat replaced {};
  if (stat(path_.c_str(), &replaced) == 0 && fchmod(file_, replaced.st_mode & 07777) != 0) {
    const int code = errno;
    close(file_);
    unlink(temporary_.c_str());
    fail_write(path_, code);
  }
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  MYXTTS_CHECK(file_ >= 0, "{} was already committed", path_.string());
  detail::write_all(file_, bytes, path_);
  size_ += bytes.size();
}

void AtomicFile::commit() {
  MYXTTS_CHECK(file_ >= 0, "{} was already committed", path_.string());
  if (fsync(file_) != 0) fail_write(path_, errno);
  const int file = file_;
  file_ = -1;
  if (close(file) != 0) fail_write(path_, errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_write(path_, errno);
  temporary_.clear();
  bring_folder_to_disk(folder_of(path_));
}

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void detail::write_all(int file, std::span<const std::byte> bytes,
                       const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_write(path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void bring_folder_to_disk(const std::filesystem::path& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail_write(path, errno);
  const int code = fsync(folder) == 0 ? 0 : errno;
  close(folder);
  // Some network disks order names by themselves and answer EINVAL.
  if (code != 0 && code != EINVAL) fail_write(path, code);
}

}  // namespace myxtts
