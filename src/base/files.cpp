// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file_remedies.h"
#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

[[noreturn]] void fail_read(const std::string& named, const std::filesystem::path& path, int code) {
  switch (code) {
    case ENOENT:
      throw DataError(fmt::format("{} does not exist. Check the path.", named));
    case EACCES:
      throw DataError(fmt::format("{} may not be read by you. {}", named,
                                  permission_remedy(path, FileUse::Read)));
    case EISDIR:
      throw DataError(fmt::format("{} is a folder. Give the path of a file.", named));
    default:
      throw DataError(fmt::format("{} cannot be read: {}. Check the path and the disk.", named,
                                  std::generic_category().message(code)));
  }
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path, const std::string& what,
                           std::size_t limit) {
  const std::string named = fmt::format("The {} {}", what, path.string());
  const OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail_read(named, path, errno);
  const auto fail_size = [&](const std::string& size) {
    throw DataError(fmt::format("{} has {}; at most {} are read. Is it the right file?", named,
                                size, human_size(limit)));
  };
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail_read(named, path, errno);
  if (S_ISREG(status.st_mode) && static_cast<std::size_t>(status.st_size) > limit) {
    fail_size(human_size(static_cast<std::size_t>(status.st_size)));
  }

  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_read(named, path, errno);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > limit) fail_size("more");  // a pipe, or a file that grows
  }
}

namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  const int code = errno;
  throw DataError(fmt::format("{} cannot be {}: {}.{}", path.string(), what,
                              std::generic_category().message(code),
                              code == EACCES ? " " + permission_remedy(path, FileUse::Read) : ""));
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // A pipe would keep us waiting for whoever writes to it.
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail(path, "opened");
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) fail(path, "examined");
  if (!S_ISREG(status.st_mode)) {
    throw DataError(fmt::format("{} is not a regular file.", path.string()));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  std::span<const std::byte> bytes;
  if (size > 0) {
    void* start =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
    if (start == MAP_FAILED) fail(path, "mapped into memory");
    bytes = {static_cast<const std::byte*>(start), size};
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes));
}

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes)
    : path_(std::move(path)), bytes_(bytes) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::forget(std::span<const std::byte> part) const {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(part.data()) + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

namespace fs = std::filesystem;

void copy_apart(const fs::path& from, const fs::path& to) {
  {
    const OpenFile source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (source.get() < 0) fail(from, "opened");
    const OpenFile target(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (target.get() >= 0 && ::ioctl(target.get(), FICLONE, source.get()) == 0) return;
  }
  std::error_code failed;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, failed);
  if (!failed) return;
  throw DataError(
      fmt::format("{} cannot be copied to {}: {}.", from.string(), to.string(), failed.message()));
}

fs::path temporary_folder() {
  std::error_code unreadable;
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {  // those of temp_directory_path()
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    if (fs::is_directory(value, unreadable)) return value;
    throw DataError(fmt::format(
        "{0} names the folder {1} for temporary files, which does not exist. Make it with mkdir -p "
        "'{1}', or type: unset {0}",
        name, value));
  }
  return "/tmp";
}

OpenFile::~OpenFile() {
  if (file_ >= 0) ::close(file_);
}

ScratchFolder::ScratchFolder(const std::string& name) {
  const fs::path parent = temporary_folder();
  std::string path = (parent / fmt::format("myxtts-{}-XXXXXX", name)).string();
  if (::mkdtemp(path.data()) == nullptr) {
    throw DataError(
        fmt::format("A folder for temporary files cannot be made in {}: {}. Set TMPDIR to another "
                    "folder, as in: export TMPDIR=\"$HOME\"",
                    parent.string(), std::generic_category().message(errno)));
  }
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code failed;
  fs::remove_all(path_, failed);
  if (failed) log_warning("base", "{} could not be removed: {}", path_.string(), failed.message());
}

}  // namespace myxtts
