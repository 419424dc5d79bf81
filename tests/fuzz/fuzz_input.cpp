// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz_input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>
#include <string>

#include "base/log.h"

namespace myxtts::fuzz {
namespace {

namespace fs = std::filesystem;

void require(bool done) {
  if (!done) std::abort();
}

void write_whole(int file, std::string_view content) {
  require(::ftruncate(file, 0) == 0);
  require(::pwrite(file, content.data(), content.size(), 0) ==
          static_cast<ssize_t>(content.size()));
}

struct MemoryFolder {
  MemoryFolder() {
    std::string name = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    name += "/myxtts-fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;
  ~MemoryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }

  fs::path path;
};

// A warning for each of a million damaged files helps nobody.
[[maybe_unused]] const bool kIsQuiet = (configure_log(LogLevel::Error, {}, false), true);

}  // namespace

fs::path file_of(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("fuzz-input", MFD_CLOEXEC);
  write_whole(file, text_of(data, size));
  return "/proc/self/fd/" + std::to_string(file);
}

const fs::path& folder() {
  static const MemoryFolder made;
  return made.path;
}

void put_file(const fs::path& path, std::string_view content) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  require(file >= 0);
  write_whole(file, content);
  ::close(file);
}

}  // namespace myxtts::fuzz
