// SPDX-License-Identifier: Apache-2.0
#include "base/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"

namespace myxtts {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const std::string& name) {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  std::string path = (parent / fmt::format("myxtts-{}-XXXXXX", name)).string();
  if (failed || ::mkdtemp(path.data()) == nullptr) {
    throw DataError(fmt::format(
        "A folder for temporary files cannot be made in {}: {}. Set TMPDIR to another place.",
        parent.string(), failed ? failed.message() : std::generic_category().message(errno)));
  }
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code failed;
  fs::remove_all(path_, failed);
  if (failed) log_warning("base", "{} could not be removed: {}", path_.string(), failed.message());
}

}  // namespace myxtts
