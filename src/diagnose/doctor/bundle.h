// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace myxtts {

// What names a person or a machine, and must not leave it.
struct Identity {
  std::vector<std::string> homes = {};  // folders
  std::vector<std::string> users = {};
  std::vector<std::string> hosts = {};

  // Of the user and machine this process runs as and on.
  static Identity of_this_process();
};

// `text` with home folders as "~", user names as "<user>" and host names as "<host>", each where it
// stands as a word of its own.
std::string redact(std::string text, const Identity& identity);

// Writes a tar archive to `file` for a person helping from afar: `texts` by the names of their
// files, and of `run_directory`, where one is given, the files that show how the run went. Every
// text in it is redacted: no user, host or home folder, and nothing of the environment. Throws
// DataError when a file that was named cannot be read, or `file` not be written.
void write_bundle(const std::filesystem::path& file,
                  const std::vector<std::pair<std::string, std::string>>& texts,
                  const std::optional<std::filesystem::path>& run_directory,
                  const Identity& identity);

}  // namespace myxtts
