// SPDX-License-Identifier: Apache-2.0
#include "cli/access_flags.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/files.h"

namespace myxtts {
namespace {

constexpr std::size_t kLargestKeyFile = 1'000'000;

std::vector<std::string> keys_of(const AccessFlags& flags) {
  std::vector<std::string> keys = flags.keys;
  if (!flags.key_file.empty()) {
    std::istringstream lines(read_text_file(flags.key_file, "key file", kLargestKeyFile));
    for (std::string line; std::getline(lines, line);) {
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
      if (!line.empty()) keys.push_back(line);
    }
    if (keys.empty()) {
      throw DataError(
          fmt::format("{} holds no key; write one on a line.", flags.key_file.string()));
    }
  }
  if (std::ranges::find(keys, std::string()) != keys.end()) {
    throw ConfigError("--api-key is empty; give a key, or --no-api-key to do without one.");
  }
  return keys;
}

}  // namespace

void declare_access_flags(CLI::App& app, AccessFlags& flags) {
  app.add_option("--host", flags.host,
                 "Address to listen at; any but this machine's own needs an API key. [127.0.0.1]")
      ->type_name("ADDRESS")
      ->group(kAccessGroup);
  app.add_option("--port", flags.port,
                 fmt::format("Port to listen at; 0: any that is free. [{}]", flags.port))
      ->type_name("N")
      ->group(kAccessGroup);
  app.add_option("--api-key", flags.keys,
                 "Key that requests must bring (Authorization: Bearer KEY); give it again for more")
      ->type_name("KEY")
      ->group(kAccessGroup);
  app.add_option("--api-key-file", flags.key_file, "File with such a key on each line")
      ->type_name("FILE")
      ->group(kAccessGroup);
  app.add_flag("--no-api-key", flags.no_key,
               "Lets everybody in who reaches the address, also from other machines")
      ->group(kAccessGroup);
  app.add_option("--allow-origin", flags.origins,
                 "Page that may use the server from a browser, such as http://localhost:8000; give "
                 "it again for more")
      ->type_name("URL")
      ->group(kAccessGroup);
  app.add_option("--rate-limit", flags.per_minute,
                 "Requests a minute from one address; 0: no limit. [0]")
      ->type_name("N")
      ->group(kAccessGroup);
}

void require_range(const char* flag, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw ConfigError(fmt::format("{} is {}; it must be from {} to {}.", flag, value, least, most));
}

void check_access_flags(const AccessFlags& flags) {
  require_range("--port", flags.port, 0, 65535);
  require_range("--rate-limit", flags.per_minute, 0, 1'000'000);
}

ListenOptions listen_options(const AccessFlags& flags) {
  AccessRules rules{.keys = keys_of(flags),
                    .hosts = {},
                    .origins = flags.origins,
                    .per_minute = flags.per_minute};
  const bool is_own = is_loopback(flags.host);
  if (!rules.keys.empty() && flags.no_key) {
    throw ConfigError("--no-api-key and an API key contradict each other; give one of them.");
  }
  if (!is_own && rules.keys.empty() && !flags.no_key) {
    throw ConfigError(fmt::format(
        "--host {} can be reached from other machines: give --api-key KEY (or --api-key-file "
        "FILE), or --no-api-key to let everybody in.",
        flags.host));
  }
  if (is_own) rules.hosts = {"localhost", "127.0.0.1", "::1"};
  return {.host = flags.host, .port = flags.port, .access = std::move(rules)};
}

}  // namespace myxtts
