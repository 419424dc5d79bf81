// SPDX-License-Identifier: Apache-2.0
// Clean text against the peer's, made by tests/golden/make_text.py.
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "text/cleaner.h"

namespace myxtts {
namespace {

class CleanTextOf : public testing::TestWithParam<std::string> {};

TEST_P(CleanTextOf, EqualsThePeersForEveryText) {
  const std::string path =
      std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/" + GetParam() + ".jsonl";
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto row = nlohmann::json::parse(line);
    const auto text = row.at(0).get<std::string>();
    EXPECT_EQ(clean_text(text, parse_language(GetParam())), row.at(1).get<std::string>())
        << path << " line " << count + 1 << ": " << text;
  }
  EXPECT_GE(count, 300U) << path;
}

INSTANTIATE_TEST_SUITE_P(Languages, CleanTextOf,
                         testing::Values("en", "es", "fr", "de", "it", "pt", "pl", "tr", "ru", "nl",
                                         "cs", "ar", "hu", "hi"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace myxtts
