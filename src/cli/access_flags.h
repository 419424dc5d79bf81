// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"
#include "http/access.h"

namespace myxtts {

// Where a server listens and whom it lets in: the flags that serve and watch have alike.
struct AccessFlags {
  std::string host = "127.0.0.1";
  int port = 0;
  std::vector<std::string> keys = {};
  std::filesystem::path key_file = {};
  bool no_key = false;
  std::vector<std::string> origins = {};
  std::int64_t per_minute = 0;
};

inline constexpr const char* kAccessGroup = "Access";

// `flags` holds the default of --port, and outlives the command line.
void declare_access_flags(CLI::App& app, AccessFlags& flags);

// Throws ConfigError for what is out of range.
void check_access_flags(const AccessFlags& flags);
void require_range(const char* flag, std::int64_t value, std::int64_t least, std::int64_t most);

// Whoever can reach the address must have a key, unless everybody was let in. Reads the file of
// keys. Throws ConfigError, DataError.
ListenOptions listen_options(const AccessFlags& flags);

}  // namespace myxtts
