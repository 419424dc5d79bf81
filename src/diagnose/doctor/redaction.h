// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
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

}  // namespace myxtts
