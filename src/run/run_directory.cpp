// SPDX-License-Identifier: Apache-2.0
#include "run/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";

[[noreturn]] void refuse(const fs::path& folder, const std::string& why) {
  throw DataError(
      fmt::format("The run directory {} cannot be used: {}. Give another with --checkpoint-dir.",
                  folder.string(), why));
}

std::string reason(int code, const fs::path& folder) {
  switch (code) {
    case EACCES:
    case EPERM:
      return "you may not write there";
    case EROFS:
      return "its disk is mounted read-only";
    case ENOSPC:
    case EDQUOT:
      return fmt::format("its disk is full (see df -h {})", folder.string());
    default:
      return std::generic_category().message(code);
  }
}

// The first part of the path that is there and is no folder; empty: there is none.
fs::path file_in_the_way(const fs::path& folder) {
  fs::path walked;
  for (const auto& part : folder) {
    walked /= part;
    std::error_code error;
    const auto status = fs::status(walked, error);
    if (fs::exists(status) && !fs::is_directory(status)) return walked;
  }
  return {};
}

void make_folder_of_run(const fs::path& folder) {
  if (const auto file = file_in_the_way(folder); !file.empty()) {
    refuse(folder, fmt::format("{} is not a folder", file.string()));
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse(folder, reason(error.value(), folder));
}

std::string holder_of(int lock) {
  std::array<char, 32> digits{};
  const ssize_t count = ::pread(lock, digits.data(), digits.size() - 1, 0);
  const std::string text(digits.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  const auto number = text.substr(0, text.find_first_not_of("0123456789"));
  return number.empty() ? "another process" : "process " + number;
}

// Throws when another process holds it.
void take_lock(int lock, const fs::path& folder) {
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) {
    throw DataError(
        fmt::format("The run directory {} is in use by {}; wait for its end, or give another with "
                    "--checkpoint-dir.",
                    folder.string(), holder_of(lock)));
  }
  log_warning("run", "The disk of {} knows no locks ({}): see to it that only one process uses it.",
              folder.string(), std::generic_category().message(errno));
}

}  // namespace

RunDirectory::RunDirectory(fs::path folder) : folder_(std::move(folder)) {
  make_folder_of_run(folder_);
  lock_ = ::open((folder_ / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) refuse(folder_, reason(errno, folder_));
  try {
    take_lock(lock_, folder_);
    if (::ftruncate(lock_, 0) != 0) refuse(folder_, reason(errno, folder_));
    detail::write_all(lock_, bytes_of(fmt::format("{}\n", ::getpid())), folder_ / kLock);
    if (::access(folder_.c_str(), W_OK | X_OK) != 0) refuse(folder_, reason(errno, folder_));
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

RunDirectory::~RunDirectory() {
  ::close(lock_);  // the file stays: removing it would let two processes hold two of them
}

bool RunDirectory::has_checkpoints() const {
  return holds_checkpoints(folder_);
}

bool holds_checkpoints(const fs::path& run) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", none)) {
    if (entry.path().filename().string().starts_with("step-")) return true;
  }
  return false;
}

}  // namespace myxtts
