// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace myxtts {

// A failure the person running the program can act on. what() is a complete sentence
// that names the file, option or device at fault and, where known, what to type next.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A flag or a config file is wrong.
struct ConfigError : Error {
  using Error::Error;
};

// A corpus, model or checkpoint file is wrong.
struct DataError : Error {
  using Error::Error;
};

// A device is missing, full or broken.
struct DeviceError : Error {
  using Error::Error;
};

// A bug of ours: a condition the program itself should have kept true.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& message);
}  // namespace detail

}  // namespace myxtts

// Stays on in release builds. Use it for our own invariants, never for user input.
#define MYXTTS_CHECK(condition, ...)                                                            \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      ::myxtts::detail::fail_check(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
    }                                                                                           \
  } while (false)
