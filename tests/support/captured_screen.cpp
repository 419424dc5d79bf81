// SPDX-License-Identifier: Apache-2.0
#include "support/captured_screen.h"

#include <fcntl.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace myxtts::test {

CapturedScreen::CapturedScreen(int columns) {
  std::array<int, 2> ends{};
  int result = 0;
  if (columns > 0) {
    termios settings{};
    cfmakeraw(&settings);  // no translation of line ends
    const winsize size{24, static_cast<unsigned short>(columns), 0, 0};
    result = openpty(&ends[0], &ends[1], nullptr, &settings, &size);
  } else {
    result = pipe(ends.data());
  }
  if (result != 0) throw std::system_error(errno, std::generic_category(), "openpty or pipe");
  read_end_ = ends[0];
  write_end_ = ends[1];
  fcntl(read_end_, F_SETFL, O_NONBLOCK);
}

CapturedScreen::~CapturedScreen() {
  close(read_end_);
  close(write_end_);
}

std::string CapturedScreen::take() {
  std::string bytes;
  std::array<char, 4096> buffer{};
  ssize_t count = 0;
  while ((count = read(read_end_, buffer.data(), buffer.size())) > 0) {
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return bytes;
}

std::string seen_on_terminal(const std::string& bytes) {
  const std::string clear = "\r\x1b[K";
  std::string seen;
  for (std::size_t at = 0; at < bytes.size();) {
    if (bytes.compare(at, clear.size(), clear) == 0) {
      const auto line = seen.rfind('\n');
      seen.resize(line == std::string::npos ? 0 : line + 1);
      at += clear.size();
    } else {
      seen += bytes[at++];
    }
  }
  return seen;
}

}  // namespace myxtts::test
