// SPDX-License-Identifier: Apache-2.0
#include "base/file_remedies.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

std::string name_of_user(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> room{};
  ::getpwuid_r(user, &entry, room.data(), room.size(), &found);
  return found != nullptr ? found->pw_name : fmt::format("user {}", user);
}

bool starts_with_letters(std::string_view text, std::string_view small) {
  return text.size() >= small.size() &&
         std::ranges::equal(text.substr(0, small.size()), small, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

}  // namespace

std::string placeholder_of(std::string_view start) {
  if (start.starts_with("version https://git-lfs.github.com/spec/")) {
    return "a git-lfs pointer, which names a large file and does not hold it; type git lfs pull in "
           "its folder, or download the file itself";
  }
  start.remove_prefix(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
  if (starts_with_letters(start, "<!doctype html") || starts_with_letters(start, "<html")) {
    return "a web page that was saved in place of the file; download the file itself, by the "
           "download link on that page";
  }
  return {};
}

std::string permission_remedy(const std::filesystem::path& path, FileUse use) {
  constexpr uid_t kFirstPerson = 1000;  // below it are the system and its services
  const std::filesystem::path named = std::filesystem::absolute(path).lexically_normal();
  std::filesystem::path refused = named;
  struct stat status {};
  while (::stat(refused.c_str(), &status) != 0 && refused.has_relative_path()) {
    refused = refused.parent_path();
  }
  const std::string word = shell_word(refused.string());
  const bool writes = use == FileUse::Write;
  if (::geteuid() == 0) {  // no permission is missing
    return writes ? "Even root may not: give a path on another disk."
                  : "Even root may not: have it copied to a disk of this machine.";
  }
  if (status.st_uid == ::geteuid()) {
    return writes ? fmt::format("Type chmod u+wx {}, or give a path in another folder.", word)
                  : fmt::format("Type chmod -R u+rX {} to be allowed to.", word);
  }
  const std::string owner = name_of_user(status.st_uid);
  if (refused != named || status.st_uid < kFirstPerson) {  // not to be taken from its owner
    return writes ? fmt::format("It belongs to {}: give a path in a folder of yours.", owner)
                  : fmt::format("It belongs to {}: have it copied to a folder of yours.", owner);
  }
  return writes ? fmt::format(
                      "It belongs to {}: give a path in a folder of yours, or type sudo "
                      "chown -R \"$USER\" {} to make it yours.",
                      owner, word)
                : fmt::format(
                      "It belongs to {}: have it copied to a folder of yours, or type sudo "
                      "chown -R \"$USER\" {} to make it yours.",
                      owner, word);
}

void require_no_placeholder(const MappedFile& file) {
  constexpr std::size_t kStart = 200;
  const auto start = file.bytes().first(std::min(kStart, file.bytes().size()));
  const std::string what =
      placeholder_of({reinterpret_cast<const char*>(start.data()), start.size()});
  if (!what.empty()) throw DataError(fmt::format("{} is {}.", file.path().string(), what));
}

}  // namespace myxtts
