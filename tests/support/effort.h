// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace myxtts::test {

// How often a test of code that runs on one thread repeats itself. The thread sanitizer slows it
// down twentyfold and has nothing to find there: it gets a tenth.
constexpr int repetitions(int full) {
#if defined(__SANITIZE_THREAD__)
  return full / 10;
#else
  return full;
#endif
}

}  // namespace myxtts::test
