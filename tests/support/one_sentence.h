// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <regex>
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
        "following argument", "Run with --help", "bug of MyXTTS", "?."}) {
    EXPECT_EQ(err.find(leak), std::string::npos) << leak << " in: " << err;
  }
}

// Figures are written for people: one clip is not "1 clips", no time is "0 ns", nothing "1.07e+03".
// A sum, "1 + 1 threads", is several, and "1 steps/s" a unit.
inline void expect_plain_figures(const std::string& text) {
  static const std::regex odd(
      R"((^|[^+] |[^\w., ])1 (clips|steps|files|samples|batches|epochs|stages|speakers|threads|workers|)"
      R"(texts|pieces|codes|warnings|minutes|checkpoints)\b(?!/)|\b0 ns\b|\d[eE]\+\d)");
  std::smatch found;
  EXPECT_FALSE(std::regex_search(text, found, odd)) << found.str() << " in:\n" << text;
}

}  // namespace myxtts::test
