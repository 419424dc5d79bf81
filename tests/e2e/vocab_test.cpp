// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/temporary_folder.h"

namespace myxtts {
namespace {

using test::run_program;

std::string vocabulary() {
  return std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/vocab.json";
}

TEST(VocabExtend, APersianVocabularySpeaksPersian) {
  test::TemporaryFolder folder;
  std::ofstream(folder / "fa.txt") << "گربه کوچک پنجره را دید.\nگربه کوچک ژاله را دید.\n";
  const std::string out = (folder / "fa.json").string();
  const auto extended =
      run_program({"vocab", "extend", "--vocab", vocabulary(), "--language", "fa", "--text",
                   (folder / "fa.txt").string(), "--out", out, "--pieces", "10"});
  ASSERT_EQ(extended.exit_code, 0) << extended.err;
  const auto growth = nlohmann::json::parse(test::contents_of(folder / "fa.growth.json"));
  EXPECT_EQ(growth["rows"].size(), growth["new_rows"].get<int>() - growth["old_rows"].get<int>());

  const auto spoken = run_program({"tokenize", "--language", "fa", "--vocab", out},
                                  {.standard_input = "گربه كوچك\n"});
  ASSERT_EQ(spoken.exit_code, 0) << spoken.err;
  const auto line = nlohmann::json::parse(spoken.out);
  EXPECT_EQ(line["clean"], "گربه کوچک");
  EXPECT_EQ(line["pieces"][0], "[fa]");
  EXPECT_EQ(line["ids"][0], growth["old_rows"]);
  EXPECT_LT(line["ids"].size(), 10U);  // fewer than its letters

  const auto again = run_program({"vocab", "extend", "--vocab", out, "--language", "fa", "--text",
                                  (folder / "fa.txt").string(), "--out", out});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_NE(again.err.find("[fa] already"), std::string::npos) << again.err;
}

TEST(VocabExtend, WhatIsWrongWithTheRequestIsSaid) {
  test::TemporaryFolder folder;
  std::ofstream(folder / "blank.txt") << "\n  \n";
  const auto extend = [&](const std::string& vocab, const std::string& language,
                          const std::string& text) {
    return run_program({"vocab", "extend", "--vocab", vocab, "--language", language, "--text", text,
                        "--out", (folder / "out.json").string()});
  };
  const std::string blank = (folder / "blank.txt").string();
  EXPECT_EQ(extend(vocabulary(), "Persian!", blank).exit_code, 2);
  EXPECT_EQ(extend(vocabulary(), "fa", blank).exit_code, 3);
  EXPECT_EQ(extend(vocabulary(), "fa", "/nonexistent.txt").exit_code, 3);
  EXPECT_EQ(extend("/nonexistent.json", "fa", vocabulary()).exit_code, 3);
  EXPECT_FALSE(std::filesystem::exists(folder / "out.json"));
}

}  // namespace
}  // namespace myxtts
