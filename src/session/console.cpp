// SPDX-License-Identifier: Apache-2.0
#include "session/console.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>

#include "base/error.h"
#include "config/value_text.h"

namespace myxtts {

namespace {

// The reader of a pipe has ended, or the terminal was closed: nobody is left to be told.
bool is_reader_gone(int error) {
  struct stat output {};
  return error == EPIPE ||
         (error == EIO && fstat(STDOUT_FILENO, &output) == 0 && S_ISCHR(output.st_mode));
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    if (is_reader_gone(errno)) return;
    throw DataError(fmt::format("The output cannot be written: {}; send it somewhere else.",
                                std::generic_category().message(errno)));
  }
}

void report_error(std::string_view message) noexcept {
  try {
    const std::string line = one_line(message);
    std::fprintf(stderr, "myxtts: %s\n", line.c_str());
  } catch (...) {  // no memory left even for the sentence
    std::fputs("myxtts: There is no memory left; use a smaller batch or model.\n", stderr);
  }
}

}  // namespace myxtts
