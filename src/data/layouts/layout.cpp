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
#include "base/file_remedies.h"
#include "base/files.h"

namespace myxtts {
namespace {

constexpr std::size_t kDeepest = 64;

using CloseFolder = decltype([](DIR* folder) { ::closedir(folder); });

// DT_DIR, DT_REG or something else; links are followed.
unsigned char type_of(const std::string& path, unsigned char listed) {
  if (listed != DT_UNKNOWN && listed != DT_LNK) return listed;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return DT_UNKNOWN;
  return S_ISDIR(status.st_mode) ? DT_DIR : S_ISREG(status.st_mode) ? DT_REG : DT_UNKNOWN;
}

// Adds the files below a folder until there are `most`; `entered` are the folders that were seen.
void add_files(const std::string& folder, std::size_t depth, std::size_t most,
               std::set<std::pair<dev_t, ino_t>>& entered, std::vector<std::string>& files) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return;
  if (depth > kDeepest || !entered.emplace(status.st_dev, status.st_ino).second) return;
  const std::unique_ptr<DIR, CloseFolder> open(::opendir(folder.c_str()));
  if (!open) {
    const int code = errno;
    throw DataError(
        fmt::format("The folder {} cannot be read: {}.{}", folder, std::strerror(code),
                    code == EACCES ? " " + permission_remedy(folder, FileUse::Read) : ""));
  }
  while (const dirent* entry = ::readdir(open.get())) {
    if (files.size() >= most) return;
    if (entry->d_name[0] == '.') continue;
    std::string path = folder + "/" + entry->d_name;
    const unsigned char type = type_of(path, entry->d_type);
    if (type == DT_DIR) add_files(path, depth + 1, most, entered, files);
    if (type == DT_REG) files.push_back(std::move(path));
  }
}

}  // namespace

std::vector<std::string> some_files_below(const std::filesystem::path& folder, std::size_t most) {
  std::vector<std::string> files;
  std::set<std::pair<dev_t, ino_t>> entered;
  add_files(folder.string(), 0, most, entered, files);
  return files;
}

std::vector<std::string> files_below(const std::filesystem::path& folder) {
  auto files = some_files_below(folder, std::numeric_limits<std::size_t>::max());
  std::ranges::sort(files);
  return files;
}

}  // namespace myxtts
