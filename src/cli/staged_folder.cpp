// SPDX-License-Identifier: Apache-2.0
#include "cli/staged_folder.h"

#include <unistd.h>

#include <system_error>

#include "base/error.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

void require_replaceable(const fs::path& target, const std::set<std::string>& replaceable) {
  if (!fs::is_directory(target)) {
    throw ConfigError(fmt::format("{} is not a folder; give another --out.", target.string()));
  }
  for (const auto& entry : fs::directory_iterator(target)) {
    if (!replaceable.contains(entry.path().filename().string())) {
      throw ConfigError(fmt::format(
          "{} holds {}, which is not a file of ours, and is not replaced; give another --out.",
          target.string(), entry.path().filename().string()));
    }
  }
}

}  // namespace

void require_other_folder(const fs::path& source, const fs::path& target) {
  std::error_code absent;  // what is not there is no folder twice
  if (!fs::equivalent(source, target, absent)) return;
  throw ConfigError(
      fmt::format("--out {} is the folder that is read, and replacing it would lose what it holds; "
                  "give another --out.",
                  target.string()));
}

StagedFolder::StagedFolder(const fs::path& target, bool replace,
                           const std::set<std::string>& replaceable)
    : target_(fs::absolute(target).lexically_normal()) {
  if (!target_.has_filename()) target_ = target_.parent_path();  // "models/x/"
  if (fs::exists(target_) && !fs::is_empty(target_)) {
    if (!replace) {
      throw ConfigError(fmt::format(
          "{} exists already; give another --out, or --force to replace it.", target_.string()));
    }
    require_replaceable(target_, replaceable);
  }
  staging_ =
      target_.parent_path() / fmt::format(".{}.part-{}", target_.filename().string(), ::getpid());
  std::error_code error;
  fs::create_directories(staging_, error);
  if (error) {
    throw DataError(fmt::format("{} cannot be made: {}.", target_.string(), error.message()));
  }
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;  // nothing more can be done about a folder that will not go
  fs::remove_all(staging_, ignored);
}

void StagedFolder::commit() {
  try {
    const fs::path old = staging_.string() + "-old";
    const bool replaces = fs::exists(target_);
    if (replaces) fs::rename(target_, old);
    fs::rename(staging_, target_);
    if (replaces) fs::remove_all(old);
  } catch (const fs::filesystem_error& error) {
    throw DataError(
        fmt::format("{} cannot be put in place: {}.", target_.string(), error.code().message()));
  }
}

}  // namespace myxtts
