// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/temporary_folder.h"

namespace myxtts::tokenize_test {
namespace {

using Json = nlohmann::json;
using test::run_program;

std::string vocabulary() {
  return std::string(std::getenv("MYXTTS_TEST_DATA")) + "/golden/text/vocab.json";
}

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST(Tokenize, EachLineGivesOneObjectAlsoAnEmptyOne) {
  const auto result = run_program({"tokenize", "--language", "en", "--vocab", vocabulary()},
                                  {.standard_input = "Dr. Hall paid $5.\n\nend"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["clean"], "doctor hall paid five dollars.");
  EXPECT_EQ(lines[0]["pieces"][0], "[en]");
  EXPECT_EQ(lines[0]["pieces"].size(), lines[0]["ids"].size());
  EXPECT_EQ(lines[1]["clean"], "");
  EXPECT_EQ(lines[1]["pieces"], Json::array({"[en]"}));
  EXPECT_EQ(lines[2]["clean"], "end");
}

TEST(Tokenize, InvalidUtf8IsReplacedAndCounted) {
  const auto result = run_program({"tokenize", "--language", "en", "--vocab", vocabulary()},
                                  {.standard_input = "caf\xE9 \xFF\n"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_of(result.out).at(0)["clean"], "caf\uFFFD \uFFFD");
  EXPECT_NE(result.err.find("2 invalid UTF-8 sequences"), std::string::npos) << result.err;
}

TEST(Tokenize, StrictNamesTheLineAndTheByte) {
  const auto result =
      run_program({"tokenize", "--strict", "--language", "en", "--vocab", vocabulary()},
                  {.standard_input = "fine\ncaf\xE9\n"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(lines_of(result.out).size(), 1U);
  EXPECT_NE(result.err.find("Line 2 is not UTF-8 at byte 4"), std::string::npos) << result.err;
}

TEST(Tokenize, AnUnknownLanguageListsTheKnownOnes) {
  const auto result = run_program({"tokenize", "--language", "xx", "--vocab", vocabulary()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("'xx'; it knows en, "), std::string::npos) << result.err;
  const auto no_code = run_program({"tokenize", "--language", "english", "--vocab", vocabulary()});
  EXPECT_EQ(no_code.exit_code, 2);
  EXPECT_NE(no_code.err.find("'english'"), std::string::npos) << no_code.err;
  EXPECT_NE(no_code.err.find("did you mean en?"), std::string::npos) << no_code.err;
}

TEST(Tokenize, ALanguageTheVocabularyLacksSaysHowToAddIt) {
  const auto result = run_program({"tokenize", "--language", "fa", "--vocab", vocabulary()});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("myxtts vocab extend"), std::string::npos) << result.err;
}

TEST(Tokenize, AMissingOrBrokenVocabularyIsSaid) {
  const auto missing =
      run_program({"tokenize", "--language", "en", "--vocab", "/nonexistent.json"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.err.find("/nonexistent.json"), std::string::npos) << missing.err;
  const auto broken = run_program({"tokenize", "--language", "en", "--vocab", MYXTTS_PROGRAM});
  EXPECT_EQ(broken.exit_code, 3);
  EXPECT_NE(broken.err.find("not a vocabulary"), std::string::npos) << broken.err;
  EXPECT_EQ(run_program({"tokenize", "--language", "en"}).exit_code, 2);
}

TEST(Tokenize, AModelFolderBringsItsVocabulary) {
  test::TemporaryFolder folder;
  std::filesystem::copy_file(vocabulary(), folder / "vocab.json");
  const auto result =
      run_program({"tokenize", "--language", "en", "--model", folder.path().string()},
                  {.standard_input = "end\n"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_of(result.out).at(0)["clean"], "end");
}

TEST(Tokenize, TextWithoutAnyKnownTokenIsSaid) {
  const auto result = run_program({"tokenize", "--language", "en", "--vocab", vocabulary()},
                                  {.standard_input = "ᚠᚢᚦ\ngood ☃ morning\u200b ☃\nend ☃\n"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err,
            "warning: tokenize: line 1 has nothing that the vocabulary knows, first 'ᚠ' (U+16A0), "
            "'ᚢ' (U+16A2), 'ᚦ' (U+16A6); is it in the right language?\n"
            "warning: tokenize: line 2: the vocabulary does not know '☃' (U+2603), U+200B (zero "
            "width space)\n")
      << "each sign once";
}

TEST(Tokenize, SplitShowsThePiecesAndNeedsNoVocabulary) {
  const std::string sentence(140, 'a');
  const auto result = run_program({"tokenize", "--split", "--language", "en"},
                                  {.standard_input = sentence + ". " + sentence + ".\n"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_of(result.out).at(0)["splits"], Json::array({sentence + ".", sentence + "."}));
}

TEST(Tokenize, MissingTablesAndDictionaryAreSaidWithTheRemedy) {
  for (const std::string language : {"zh-cn", "ja"}) {
    const auto result =
        run_program({"tokenize", "--language", language, "--vocab", vocabulary()},
                    {.standard_input = "東京\n", .environment = {"MYXTTS_TEXT_DATA=/nonexistent"}});
    EXPECT_EQ(result.exit_code, 3) << language;
    EXPECT_NE(result.err.find("tools/setup"), std::string::npos) << result.err;
  }
}

// The program with pipes at both ends, kept running.
class Conversation {
 public:
  Conversation() {
    int to_child[2] = {};
    int from_child[2] = {};
    if (pipe(to_child) != 0 || pipe(from_child) != 0) throw std::runtime_error("no pipe");
    child_ = fork();
    if (child_ == 0) {
      alarm(60);
      dup2(to_child[0], STDIN_FILENO);
      dup2(from_child[1], STDOUT_FILENO);
      close(to_child[1]);
      close(from_child[0]);
      const std::string file = vocabulary();
      execl(MYXTTS_PROGRAM, "myxtts", "tokenize", "--language", "en", "--vocab", file.c_str(),
            static_cast<char*>(nullptr));
      _exit(127);
    }
    close(to_child[0]);
    close(from_child[1]);
    input_ = to_child[1];
    output_ = from_child[0];
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  ~Conversation() {
    close(input_);
    close(output_);
    waitpid(child_, nullptr, 0);
  }

  // Waits for the answer; empty when the program has ended instead.
  std::string ask(const std::string& line) {
    const std::string text = line + '\n';
    if (write(input_, text.data(), text.size()) < 0) return {};
    std::string answer;
    for (char c = 0; read(output_, &c, 1) == 1 && c != '\n';) answer += c;
    return answer;
  }

 private:
  pid_t child_ = -1;
  int input_ = -1;
  int output_ = -1;
};

TEST(Tokenize, AnAnswerComesBeforeTheNextLineIsSent) {
  Conversation program;
  EXPECT_EQ(Json::parse(program.ask("One"))["clean"], "one");
  EXPECT_EQ(Json::parse(program.ask("Two"))["clean"], "two");
}

}  // namespace
}  // namespace myxtts::tokenize_test
