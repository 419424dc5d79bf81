// SPDX-License-Identifier: Apache-2.0
#include "data/layouts/layout.h"

#include <dirent.h>
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "base/error.h"

namespace myxtts {
namespace {

constexpr std::size_t kDeepest = 64;

using CloseFolder = decltype([](DIR* folder) { ::closedir(folder); });

class Walk {
 public:
  explicit Walk(std::size_t most) : most_(most) {}

  void enter(const std::string& folder, std::size_t depth) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) return;
    if (depth > kDeepest || !entered_.emplace(status.st_dev, status.st_ino).second) return;
    const std::unique_ptr<DIR, CloseFolder> open(::opendir(folder.c_str()));
    if (!open) {
      throw DataError(
          fmt::format("The folder {} cannot be read: {}.", folder, std::strerror(errno)));
    }
    while (const dirent* entry = ::readdir(open.get())) {
      if (files.size() >= most_) return;
      if (entry->d_name[0] != '.') take(folder + "/" + entry->d_name, entry->d_type, depth);
    }
  }

  std::vector<std::string> files;

 private:
  void take(std::string path, unsigned char type, std::size_t depth) {
    if (type == DT_UNKNOWN || type == DT_LNK) {
      struct stat status {};
      if (::stat(path.c_str(), &status) != 0) return;
      type = S_ISDIR(status.st_mode) ? DT_DIR : S_ISREG(status.st_mode) ? DT_REG : DT_UNKNOWN;
    }
    if (type == DT_DIR) enter(path, depth + 1);
    if (type == DT_REG) files.push_back(std::move(path));
  }

  const std::size_t most_;
  std::set<std::pair<dev_t, ino_t>> entered_;
};

}  // namespace

std::vector<std::string> files_below(const std::filesystem::path& folder) {
  Walk walk(std::numeric_limits<std::size_t>::max());
  walk.enter(folder.string(), 0);
  std::ranges::sort(walk.files);
  return std::move(walk.files);
}

std::vector<std::string> some_files_below(const std::filesystem::path& folder, std::size_t most) {
  Walk walk(most);
  walk.enter(folder.string(), 0);
  return std::move(walk.files);
}

}  // namespace myxtts
