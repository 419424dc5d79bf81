// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace myxtts::test {

// The first bytes of an M4A file.
inline const std::string kM4aHead(
    "\0\0\0\x20"
    "ftypM4A ",
    12);

// A program of that name in `bin`: it adds its arguments to `calls`, a line for each, and gives the
// bytes of `wav`, or complains of a file that is called "broken". Gives the setting of PATH with
// it.
inline std::string write_stand_in_ffmpeg(const std::filesystem::path& bin,
                                         const std::filesystem::path& wav,
                                         const std::filesystem::path& calls) {
  std::filesystem::create_directories(bin);
  std::ofstream(bin / "ffmpeg") << "#!/bin/sh\nprintf '%s\\n' \"$@\" >> '" << calls.string()
                                << "'\ncase \"$*\" in *broken*) echo 'moov atom not found' >&2; "
                                   "exit 1;; *endless*) exec sleep 60;; esac\nexec cat '"
                                << wav.string() << "'\n";
  std::filesystem::permissions(bin / "ffmpeg", std::filesystem::perms::owner_all);
  return "PATH=" + bin.string() + ":" + std::getenv("PATH");
}

}  // namespace myxtts::test
