// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "support/program.h"

namespace myxtts::test::program_test {
namespace {

TEST(Program, HelpGoesToStandardOutputAndSucceeds) {
  const auto result = run_program({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.out.find("myxtts"), std::string::npos) << result.out;
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace myxtts::test::program_test
