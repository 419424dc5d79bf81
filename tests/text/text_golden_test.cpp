// SPDX-License-Identifier: Apache-2.0
// Clean text and token ids against the peer's, made by tests/golden/make_text.py with
// tests/golden/text/vocab.json.
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "text/tokenizer.h"

namespace myxtts::text_golden_test {
namespace {

std::string golden(const std::string& name) {
  return std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/" + name;
}

class TextOf : public testing::TestWithParam<std::string> {};

TEST_P(TextOf, GivesThePeersCleanTextAndIds) {
  const Vocabulary vocabulary = Vocabulary::load(golden("vocab.json"));
  const TextEncoder encoder(vocabulary, parse_language(GetParam()));
  const std::string path = golden(GetParam() + ".jsonl");
  std::ifstream file(path);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto row = nlohmann::json::parse(line);
    const auto text = row.at(0).get<std::string>();
    const EncodedText ours = encoder.encode(text);
    EXPECT_EQ(ours.clean, row.at(1).get<std::string>())
        << path << " line " << count + 1 << ": " << text;
    EXPECT_EQ(ours.ids, row.at(2).get<std::vector<TokenId>>())
        << path << " line " << count + 1 << ": " << text;
  }
  EXPECT_GE(count, 300U) << path;
}

INSTANTIATE_TEST_SUITE_P(Languages, TextOf,
                         testing::Values("en", "es", "fr", "de", "it", "pt", "pl", "tr", "ru", "nl",
                                         "cs", "ar", "zh-cn", "ja", "hu", "ko", "hi"),
                         [](const auto& test) { return test.param.substr(0, 2); });

}  // namespace
}  // namespace myxtts::text_golden_test
