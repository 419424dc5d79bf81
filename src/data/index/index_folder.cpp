// SPDX-License-Identifier: Apache-2.0
#include "data/index/index_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/log.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

// Held by the process that scans; gone with it, however it ends.
class ScanLock {
 public:
  explicit ScanLock(const fs::path& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    // Disks that know no locks lose nothing but time: files are replaced whole.
    if (file_ < 0 || flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    log_info("data", "another process is looking at the same corpus; waiting for its index");
    while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ScanLock(const ScanLock&) = delete;
  ScanLock& operator=(const ScanLock&) = delete;
  ~ScanLock() {
    if (file_ >= 0) ::close(file_);
  }

 private:
  int file_;
};

// An index that was there already; nothing where there was none, or with a `fault` one that cannot
// be used.
std::optional<ClipIndex> open_known(const fs::path& path, std::uint64_t key, std::string& fault) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return std::nullopt;
  try {
    ClipIndex index = ClipIndex::open(path);
    if (index.key() == key) return index;
    fault = fmt::format("The index {} is one of something else.", path.string());
  } catch (const DataError& error) {
    fault = error.what();
  }
  return std::nullopt;
}

}  // namespace

void make_folder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (!failed) return;
  throw DataError(
      fmt::format("The folder {} for the index of the corpus cannot be made: {}. Name another with "
                  "--cache-dir.",
                  folder.string(), failed.message()));
}

fs::path index_file(const fs::path& folder, const ScanRequest& request) {
  return folder / fmt::format("clips-{:016x}.index", index_key(request));
}

ClipIndex open_index(const fs::path& folder, const ScanRequest& request) {
  const fs::path path = index_file(folder, request);
  const std::uint64_t key = index_key(request);
  std::string fault;
  if (auto known = open_known(path, key, fault); known && changes_since(*known).empty()) {
    return std::move(*known);
  }
  make_folder(folder);
  const ScanLock lock(path.string() + ".lock");
  // Another process may have made it meanwhile.
  fault.clear();
  auto known = open_known(path, key, fault);
  if (!fault.empty()) log_warning("data", "{} It is made anew.", fault);
  if (known) {
    const std::string changes = changes_since(*known);
    if (changes.empty()) return std::move(*known);
    log_info("data", "{}: {}; looking at what is new", request.source.path.string(), changes);
  }
  write_file_atomically(path, make_clip_index(scan_corpus(request, known ? &*known : nullptr)));
  return ClipIndex::open(path);
}

}  // namespace myxtts
