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
#include "base/file_remedies.h"
#include "base/files.h"

namespace myxtts {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// The folder itself, or the one around it where it is hidden: such a one is removed with what could
// not be written.
std::filesystem::path lasting(std::filesystem::path folder) {
  const auto is_hidden = [&] {
    const std::string name = folder.filename().string();
    return name.size() > 1 && name.front() == '.' && name != "..";
  };
  while (is_hidden()) folder = folder_of(folder);
  return folder;
}

// Why a write of something in `folder` failed, and what to do about it.
std::string reason_of(const std::filesystem::path& in, int code) {
  const std::string folder = in.string();
  std::error_code unreadable;
  if (code == ENOENT && std::filesystem::exists(in, unreadable)) code = EACCES;  // as /proc
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return fmt::format(
          "the disk of {} is full. Free some space (see df -h {}), or give a path on another disk.",
          lasting(in).string(), lasting(in).string());
    case EFBIG:
      return "it would be larger than this disk or the limit of this shell allows. See ulimit -f, "
             "or give a path on another disk.";
    case EACCES:
    case EPERM:
      return fmt::format("you may not write to the folder {}. {}", folder,
                         permission_remedy(in, FileUse::Write));
    case EROFS:
      return fmt::format("the disk of {} is mounted read-only. Give a path on another disk.",
                         folder);
    case ENOENT:
      return fmt::format("the folder {} does not exist. Make it with mkdir -p '{}'.", folder,
                         folder);
    case ENOTDIR:
      return fmt::format("{} is not a folder. Give a path in a folder that exists.", folder);
    case ENAMETOOLONG:
      return "its name is too long. Give a shorter one.";
    default:
      return fmt::format("{}. Check the disk, or give another path.",
                         std::generic_category().message(code));
  }
}

[[noreturn]] void fail_write(const std::filesystem::path& path, int code) {
  throw DataError(
      fmt::format("{} cannot be written: {}", path.string(), reason_of(folder_of(path), code)));
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

namespace {

// The deepest folder of the path that is there, or what is there in its place.
std::filesystem::path existing_part(std::filesystem::path path) {
  std::error_code unreadable;
  path = std::filesystem::absolute(path).lexically_normal();
  while (path.has_relative_path() && !std::filesystem::exists(path, unreadable)) {
    path = path.parent_path();
  }
  return path;
}

// Makes a file there and removes it: the only answer that holds for every disk.
void try_folder(const std::filesystem::path& path) {
  const std::filesystem::path folder = existing_part(path);
  const auto temporary = new_temporary_name(folder / "file");
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (const int code = errno; file < 0 && code != EEXIST) {
    throw DataError(
        fmt::format("{} cannot be written: {}", path.string(), reason_of(folder, code)));
  }
  if (file < 0) return;  // left behind by a process that could write it
  close(file);
  unlink(temporary.c_str());
}

void try_growing_file(const std::filesystem::path& path) {
  std::error_code absent;
  const auto status = std::filesystem::status(path, absent);
  if (!std::filesystem::exists(status) || std::filesystem::is_directory(status)) {
    const AtomicFile tried(path);
  } else if (access(path.c_str(), W_OK) != 0) {
    throw DataError(fmt::format("{} cannot be written: you may not write to it. {}", path.string(),
                                permission_remedy(path, FileUse::Write)));
  }
}

}  // namespace

void require_output(std::string_view flag, const std::filesystem::path& path, Output kind) {
  try {
    if (kind == Output::File) const AtomicFile tried(path);
    if (kind == Output::GrowingFile) try_growing_file(path);
    if (kind == Output::Folder) try_folder(path);
  } catch (const DataError& error) {
    throw DataError(fmt::format("{} {}", flag, error.what()));
  }
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
