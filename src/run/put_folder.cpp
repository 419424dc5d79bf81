// SPDX-License-Identifier: Apache-2.0
#include "run/put_folder.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

void rename_or_refuse(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return;
  throw DataError(
      fmt::format("The folder {} cannot be put in place: {}.", to.string(), error.message()));
}

}  // namespace

void put_folder(const fs::path& staged, const fs::path& target) {
  const unsigned flags = fs::exists(target) ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (::renameat2(AT_FDCWD, staged.c_str(), AT_FDCWD, target.c_str(), flags) == 0) return;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) {
    throw DataError(fmt::format("The folder {} cannot be put in place: {}.", target.string(),
                                std::generic_category().message(errno)));
  }
  put_folder_in_steps(staged, target);
}

void put_folder_in_steps(const fs::path& staged, const fs::path& target) {
  const fs::path aside = staged.string() + "-old";
  const bool replaces = fs::exists(target);
  if (replaces) rename_or_refuse(target, aside);
  rename_or_refuse(staged, target);
  if (replaces) rename_or_refuse(aside, staged);
}

}  // namespace myxtts
