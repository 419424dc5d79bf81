// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "diagnose/doctor/redaction.h"

namespace myxtts {

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
