// SPDX-License-Identifier: Apache-2.0
#include "run/staged_folder.h"

#include <signal.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

#include "base/atomic_file.h"
#include "base/error.h"
#include "config/value_text.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

void require_replaceable(const fs::path& target, const std::set<std::string>& replaceable) {
  if (!fs::is_directory(target)) {
    throw ConfigError(
        fmt::format("--out {} is not a folder; give another --out.", target.string()));
  }
  for (const auto& entry : fs::directory_iterator(target)) {
    if (!replaceable.contains(entry.path().filename().string())) {
      throw ConfigError(fmt::format(
          "{} holds {}, which is not a file of ours, and is not replaced; give another --out.",
          target.string(), entry.path().filename().string()));
    }
  }
}

// What an interrupted command left beside its --out: folders of processes that are no more.
void remove_abandoned(const fs::path& parent, const std::string& prefix) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(parent, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const auto process = parse_integer(name.substr(prefix.size()));
    if (!process || *process < 1 || ::kill(static_cast<pid_t>(*process), 0) == 0) continue;
    if (errno == ESRCH) fs::remove_all(entry.path(), none);
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
  // What is there is renamed, so the folder around it counts.
  require_output("--out", fs::exists(target_) ? target_.parent_path() : target_, Output::Folder);
  const std::string prefix = fmt::format(".{}.part-", target_.filename().string());
  remove_abandoned(target_.parent_path(), prefix);
  staging_ = target_.parent_path() / fmt::format("{}{}", prefix, ::getpid());
  above_ = target_.parent_path();
  while (!fs::exists(above_)) above_ = above_.parent_path();
  std::error_code error;
  fs::create_directories(staging_, error);
  if (error) {
    throw DataError(fmt::format("{} cannot be made: {}.", target_.string(), error.message()));
  }
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;  // nothing more can be done about a folder that will not go
  fs::remove_all(staging_, ignored);
  for (auto made = staging_.parent_path(); made != above_ && fs::remove(made, ignored);) {
    made = made.parent_path();
  }
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
