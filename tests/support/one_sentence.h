// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace myxtts::test {

// What every error of the program looks like on standard error: one line of ours, without a trace
// of the language it is written in.
inline void expect_one_sentence(const std::string& err) {
  EXPECT_TRUE(err.starts_with("myxtts: ")) << err;
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 1) << err;
  EXPECT_TRUE(err.ends_with(".\n") || err.ends_with("?\n")) << err;
  for (const char* leak :
       {"std::", "terminate", "exception", "basic_string", "what()", "yaml-cpp", "CLI::", "TEXT",
        "following argument", "Run with --help", "bug of MyXTTS"}) {
    EXPECT_EQ(err.find(leak), std::string::npos) << leak << " in: " << err;
  }
}

}  // namespace myxtts::test
