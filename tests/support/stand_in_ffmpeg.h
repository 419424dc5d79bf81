// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace myxtts::test {

// The first bytes of an M4A file.
inline const std::string kM4aHead(
    "\0\0\0\x20"
    "ftypM4A ",
    12);

// A WAV of one channel in the form that ffmpeg is asked for: 32-bit floating point.
inline std::string float_wav(const std::vector<float>& samples, std::uint32_t rate) {
  const auto bytes = [](std::uint64_t value, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  const std::size_t size = samples.size() * sizeof(float);
  return "RIFF" + bytes(size + 36, 4) + "WAVEfmt " + bytes(16, 4) + bytes(3, 2) + bytes(1, 2) +
         bytes(rate, 4) + bytes(std::uint64_t{rate} * sizeof(float), 4) + bytes(sizeof(float), 2) +
         bytes(32, 2) + "data" + bytes(size, 4) +
         std::string(reinterpret_cast<const char*>(samples.data()), size);
}

// A program of that name in `bin`: it adds its arguments to `calls`, a line for each, and gives the
// bytes of `wav`, or complains of a file that is called "broken". Gives the setting of PATH with
// it.
inline std::string write_stand_in_ffmpeg(const std::filesystem::path& bin,
                                         const std::filesystem::path& wav,
                                         const std::filesystem::path& calls) {
  std::filesystem::create_directories(bin);
  std::ofstream(bin / "ffmpeg")
      << "#!/bin/sh\nprintf '%s\\n' \"$@\" >> '" << calls.string()
      << "'\ncase \"$*\" in *broken*) echo '[in#0 @ 0x55d0aefbe280] moov atom not found' "
         ">&2; exit 1;; *endless*) exec sleep 60;; esac\nexec cat '"
      << wav.string() << "'\n";
  std::filesystem::permissions(bin / "ffmpeg", std::filesystem::perms::owner_all);
  return "PATH=" + bin.string() + ":" + std::getenv("PATH");
}

}  // namespace myxtts::test
