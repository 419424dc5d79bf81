// SPDX-License-Identifier: Apache-2.0
#include "base/paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/human.h"

namespace myxtts {
namespace {

class OpenFile {
 public:
  explicit OpenFile(int file) : file_(file) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  int get() const { return file_; }

 private:
  const int file_;
};

[[noreturn]] void fail_read(const std::string& named, int code) {
  switch (code) {
    case ENOENT:
      throw DataError(fmt::format("{} does not exist. Check the path.", named));
    case EACCES:
      throw DataError(
          fmt::format("{} may not be read by you. Change its permissions with chmod.", named));
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
  if (file.get() < 0) fail_read(named, errno);
  const auto fail_size = [&](const std::string& size) {
    throw DataError(fmt::format("{} has {}; at most {} are read. Is it the right file?", named,
                                size, human_size(limit)));
  };
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail_read(named, errno);
  if (S_ISREG(status.st_mode) && static_cast<std::size_t>(status.st_size) > limit) {
    fail_size(human_size(static_cast<std::size_t>(status.st_size)));
  }

  std::string text;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_read(named, errno);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > limit) fail_size("more");  // a pipe, or a file that grows
  }
}

}  // namespace myxtts
