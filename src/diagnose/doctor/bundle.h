// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace myxtts {

// Builds a tar archive in memory (POSIX ustar): files only, owned by nobody, dated at the epoch, so
// that it carries nothing about who made it.
class TarArchive {
 public:
  // `name` is a relative path of at most 100 bytes.
  void add(std::string_view name, std::string_view content);

  // The whole archive. Nothing may be added afterwards.
  std::string finish() &&;

 private:
  std::string bytes_;
};

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

// What a person helping from afar needs.
struct BundleContent {
  std::string report_text;
  std::string report_json;
  std::optional<std::string> config = {};                   // effective configuration, YAML
  std::optional<std::filesystem::path> run_directory = {};  // of the run in question
};

// Writes a tar archive to `file`, every text in it redacted: no user, host or home folder, and
// nothing of the environment. Throws DataError when a file that was named cannot be read, or `file`
// not be written.
void write_bundle(const std::filesystem::path& file, const BundleContent& content,
                  const Identity& identity);

}  // namespace myxtts
