// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace myxtts::test {

// `text` must be what tests/device/golden/NAME holds. A test that fails shows the new text; look at
// it, then run with MYXTTS_WRITE_GOLDEN=1.
inline void expect_golden(const std::string& name, const std::string& text) {
  const auto file = std::filesystem::path(std::getenv("MYXTTS_TEST_DATA")) / "device/golden" / name;
  if (std::getenv("MYXTTS_WRITE_GOLDEN") != nullptr) std::ofstream(file) << text;
  std::ifstream stream(file);
  std::ostringstream golden;
  golden << stream.rdbuf();
  EXPECT_EQ(text, golden.str()) << name;
}

}  // namespace myxtts::test
