// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <string>

#include <gtest/gtest.h>

namespace myxtts::error_test {
namespace {

TEST(Check, AFailedCheckNamesTheMessageAndTheCondition) {
  try {
    MYXTTS_CHECK(1 + 1 == 3, "sums of {} are wrong", 2);
    FAIL() << "the check let a false condition pass";
  } catch (const InternalError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("sums of 2 are wrong"), std::string::npos) << what;
    EXPECT_NE(what.find("1 + 1 == 3"), std::string::npos) << what;
  }
}

TEST(Check, ATrueConditionPassesAndIsEvaluatedOnce) {
  int evaluations = 0;
  MYXTTS_CHECK(++evaluations == 1, "evaluated {} times", evaluations);
  EXPECT_EQ(evaluations, 1);
}

}  // namespace
}  // namespace myxtts::error_test
