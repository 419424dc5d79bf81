// SPDX-License-Identifier: Apache-2.0
#include "base/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace myxtts {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  return value == nullptr ? "" : value;
}

}  // namespace

ScreenAbilities ScreenAbilities::of(int file, bool progress) {
  const bool terminal = isatty(file) == 1 && environment("TERM") != "dumb";
  return {.terminal = terminal,
          .colours = terminal && environment("NO_COLOR").empty(),
          .progress = progress};
}

Screen::Screen(int file, const ScreenAbilities& abilities) : file_(file), abilities_(abilities) {}

void Screen::set_abilities(const ScreenAbilities& abilities) {
  const std::lock_guard lock(mutex_);
  if (bar_owner_ != nullptr) write_all(kClearLine);
  bar_owner_ = nullptr;
  abilities_ = abilities;
}

ScreenAbilities Screen::abilities() const {
  const std::lock_guard lock(mutex_);
  return abilities_;
}

int Screen::width() const {
  winsize size{};
  return ioctl(file_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void Screen::write_line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  std::string output;
  if (bar_owner_ != nullptr) output += kClearLine;
  output += text;
  output += '\n';
  if (bar_owner_ != nullptr) output += bar_;
  write_all(output);
}

void Screen::draw_bar(const void* owner, std::string_view bar) {
  const std::lock_guard lock(mutex_);
  if (bar_owner_ != nullptr && bar_owner_ != owner) return;
  bar_owner_ = owner;
  bar_ = bar;
  write_all(std::string(kClearLine) + bar_);
}

void Screen::remove_bar(const void* owner) {
  const std::lock_guard lock(mutex_);
  if (bar_owner_ != owner) return;
  bar_owner_ = nullptr;
  write_all(kClearLine);
}

// In one piece where the system allows it, past C++ streams. An error has nobody left to be told.
void Screen::write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(file_, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd ready{file_, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

Screen& standard_screen() {
  static Screen screen(STDERR_FILENO, ScreenAbilities::of(STDERR_FILENO, /*progress=*/true));
  return screen;
}

}  // namespace myxtts
