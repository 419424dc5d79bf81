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
#include "base/message_text.h"

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

// An index that was there already, or why it cannot be used; neither where there was none.
struct KnownIndex {
  std::optional<ClipIndex> index = {};
  std::string fault = {};
};

KnownIndex open_known(const fs::path& path, std::uint64_t key) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return {};
  try {
    ClipIndex index = ClipIndex::open(path);
    if (index.key() == key) return {.index = std::move(index)};
    return {.fault = fmt::format("The index {} is one of something else.", path.string())};
  } catch (const DataError& error) {
    return {.fault = error.what()};
  }
}

void log_changes(const ScanRequest& request, const IndexChanges& changes) {
  log_info("data", "{}: {}; looking at what is new", request.source.path.string(),
           changes.manifest_changed
               ? "its manifest or folders have changed"
               : fmt::format("{} files have changed",
                             human_count(static_cast<std::int64_t>(changes.changed))));
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

fs::path IndexFolder::path_of(const ScanRequest& request) const {
  return folder_ / fmt::format("clips-{:016x}.index", index_key(request));
}

ClipIndex IndexFolder::open(const ScanRequest& request) const {
  const fs::path path = path_of(request);
  const std::uint64_t key = index_key(request);
  if (auto known = open_known(path, key); known.index && changes_since(*known.index).none()) {
    return std::move(*known.index);
  }
  make_folder(folder_);
  const ScanLock lock(path.string() + ".lock");
  // Another process may have made it meanwhile.
  auto known = open_known(path, key);
  if (!known.fault.empty()) log_warning("data", "{} It is made anew.", known.fault);
  if (known.index) {
    const IndexChanges changes = changes_since(*known.index);
    if (changes.none()) return std::move(*known.index);
    log_changes(request, changes);
  }
  const ClipIndex* old = known.index ? &*known.index : nullptr;
  write_file_atomically(path, make_clip_index(scan_corpus(request, old)));
  return ClipIndex::open(path);
}

}  // namespace myxtts
