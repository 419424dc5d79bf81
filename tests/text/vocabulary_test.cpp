// SPDX-License-Identifier: Apache-2.0
#include "text/vocabulary.h"

#include <functional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/temporary_folder.h"
#include "text/tokenizer.h"

namespace myxtts::vocabulary_test {
namespace {

using Json = nlohmann::json;

Json sound() {
  return Json::parse(R"({
    "added_tokens": [{"id": 0, "content": "[STOP]"}, {"id": 4, "content": "[en]"}, {"id": 2, "content": "[SPACE]"}],
    "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
    "model": {"type": "BPE", "unk_token": "[UNK]",
      "vocab": {"[STOP]": 0, "[UNK]": 1, "[SPACE]": 2, "[START]": 3, "[en]": 4, "a": 5, "b": 6,
                "ab": 7, "[zh-cn]": 9},
      "merges": ["a b"]}})");
}

std::string refusal(std::string_view text) {
  try {
    Vocabulary::parse(text, "odd.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Vocabulary, KnowsItsTokensAndItsLanguages) {
  const Vocabulary vocabulary = Vocabulary::parse(sound().dump(), "sound.json");
  EXPECT_EQ(vocabulary.rows(), 10);
  EXPECT_EQ(vocabulary.find("ab"), 7);
  EXPECT_EQ(vocabulary.find("ba"), std::nullopt);
  EXPECT_EQ(vocabulary.token(7), "ab");
  EXPECT_EQ(vocabulary.token(8), "");  // a hole
  EXPECT_EQ(vocabulary.token(-1), "");
  EXPECT_EQ(vocabulary.token(10), "");
  EXPECT_EQ(vocabulary.stop(), 0);
  EXPECT_EQ(vocabulary.start(), 3);
  EXPECT_EQ(vocabulary.languages(), (std::vector<std::string>{"en", "zh-cn"}));
}

// Each row breaks one thing; the sentence must name it.
TEST(Vocabulary, EachHostileFileIsRefusedWithASentence) {
  struct Case {
    std::function<void(Json&)> harm;
    std::string said;
  };
  const std::vector<Case> cases{
      {[](Json& file) { file = Json::array(); }, "not a JSON object"},
      {[](Json& file) {
         file["normalizer"] = {{"type", "NFC"}};
       },
       "\"normalizer\" is set"},
      {[](Json& file) {
         file["post_processor"] = {{"type", "X"}};
       },
       "\"post_processor\" is set"},
      {[](Json& file) { file.erase("pre_tokenizer"); }, "no \"pre_tokenizer\""},
      {[](Json& file) { file["pre_tokenizer"] = nullptr; }, "pre-tokeniser is not"},
      {[](Json& file) { file["pre_tokenizer"]["type"] = "ByteLevel"; }, "pre-tokeniser is not"},
      {[](Json& file) { file.erase("model"); }, "no \"model\""},
      {[](Json& file) { file["model"] = 3; }, "\"model\" is not an object"},
      {[](Json& file) { file["model"]["type"] = "Unigram"; }, "not BPE"},
      {[](Json& file) { file["model"]["dropout"] = 0.1; }, "\"dropout\" is set"},
      {[](Json& file) { file["model"]["fuse_unk"] = true; }, "\"fuse_unk\" is set"},
      {[](Json& file) { file["model"]["byte_fallback"] = true; }, "\"byte_fallback\" is set"},
      {[](Json& file) { file["model"]["end_of_word_suffix"] = "</w>"; }, "_suffix\" is set"},
      {[](Json& file) { file["model"]["unk_token"] = "<unk>"; }, "\"unk_token\" is not"},
      {[](Json& file) { file["model"].erase("vocab"); }, "no \"vocab\""},
      {[](Json& file) { file["model"]["vocab"] = Json::array({"a"}); }, "\"vocab\" is not"},
      {[](Json& file) { file["model"]["vocab"]["a"] = -1; }, "id of token \"a\""},
      {[](Json& file) { file["model"]["vocab"]["a"] = 1e18; }, "id of token \"a\""},
      {[](Json& file) { file["model"]["vocab"]["a"] = 18446744073709551615U; }, "id of token"},
      {[](Json& file) { file["model"]["vocab"]["a"] = "5"; }, "id of token \"a\""},
      {[](Json& file) { file["model"]["vocab"]["a"] = 6; }, "share the id 6"},
      {[](Json& file) { file["model"]["vocab"].erase("[UNK]"); }, "no token [UNK]"},
      {[](Json& file) { file["model"]["vocab"].erase("[START]"); }, "no token [START]"},
      {[](Json& file) { file["model"].erase("merges"); }, "no \"merges\""},
      {[](Json& file) { file["model"]["merges"] = "a b"; }, "\"merges\" is not a list"},
      {[](Json& file) { file["model"]["merges"][0] = "ab"; }, "merge number 0"},
      {[](Json& file) { file["model"]["merges"][0] = "a b c"; }, "merge number 0"},
      {[](Json& file) { file["model"]["merges"][0] = {"a"}; }, "merge number 0"},
      {[](Json& file) {
         file["model"]["merges"][0] = {"a", 1};
       },
       "merge number 0"},
      {[](Json& file) { file["model"]["merges"].push_back("b a"); }, "merge number 1"},
      {[](Json& file) {
         file["added_tokens"] = {{"a", 1}};
       },
       "\"added_tokens\" is not a list"},
      {[](Json& file) { file["added_tokens"][0] = 5; }, "no \"content\""},
      {[](Json& file) { file["added_tokens"][0]["content"] = ""; }, "has no text"},
      {[](Json& file) { file["added_tokens"][1]["lstrip"] = true; }, "\"lstrip\" is set"},
      {[](Json& file) {
         file["added_tokens"][1] = {{"content", "[xx]"}};
       },
       "no \"id\""},
  };
  for (const Case& one : cases) {
    Json file = sound();
    one.harm(file);
    const std::string said = refusal(file.dump());
    EXPECT_NE(said.find(one.said), std::string::npos) << said << "\nwanted: " << one.said;
    EXPECT_EQ(said.find("odd.json is not a vocabulary"), 0U) << said;
  }
}

TEST(Vocabulary, WhatIsNotJsonIsRefused) {
  for (const std::string text :
       {"", "{", "{}{}", "\xFF\xFE", "PK\x03\x04", "{\"model\": \"\xE9\"}"}) {
    EXPECT_NE(refusal(text).find("odd.json is not a vocabulary"), std::string::npos) << text;
  }
  EXPECT_NE(refusal(std::string(300'000, '[')).find("not valid JSON"), std::string::npos);
}

TEST(Vocabulary, AMissingFileOrAFolderIsSaid) {
  test::TemporaryFolder folder;
  for (const auto& path : {folder.path() / "vocab.json", folder.path()}) {
    try {
      Vocabulary::load(path);
      FAIL() << path << " was read";
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("cannot be read"), std::string::npos);
    }
  }
}

TEST(TextEncoder, ALanguageWithoutATagIsRefusedWithTheRemedy) {
  const Vocabulary vocabulary = Vocabulary::parse(sound().dump(), "sound.json");
  try {
    const TextEncoder encoder(vocabulary, Language::Fa);
    FAIL();
  } catch (const ConfigError& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("en, zh-cn"), std::string::npos) << said;
    EXPECT_NE(said.find("myxtts vocab extend"), std::string::npos) << said;
  }
}

TEST(TextEncoder, TheTagComesFirstAndBlanksAreTokens) {
  const Vocabulary vocabulary = Vocabulary::parse(sound().dump(), "sound.json");
  const TextEncoder encoder(vocabulary, Language::En);
  const EncodedText text = encoder.encode("AB \"a\"?");
  EXPECT_EQ(text.clean, "ab a?");
  EXPECT_EQ(text.ids, (std::vector<TokenId>{4, 7, 2, 5, 1}));
  EXPECT_FALSE(encoder.is_unknown(text));
  EXPECT_TRUE(encoder.is_unknown(encoder.encode("да?")));
  EXPECT_FALSE(encoder.is_unknown(encoder.encode("")));
}

TEST(Vocabulary, OneThatIsNestedWithoutEndIsRefused) {
  const std::string deep(200'000, '[');
  const std::string close(200'000, ']');
  const std::string file =
      R"({"pre_tokenizer": {"type": )" + deep + close + R"(}, "model": {"type": "BPE"}})";
  EXPECT_NE(refusal(file).find("nested too deeply"), std::string::npos) << refusal(file);
}

}  // namespace
}  // namespace myxtts::vocabulary_test
