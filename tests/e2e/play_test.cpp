// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "support/one_sentence.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"

namespace myxtts::test::play_test {
namespace {

namespace fs = std::filesystem;

std::string bytes_in(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A tiny model, and players that keep what they are given in heard/1, heard/2, ... in place of
// sounding. PATH holds nothing else.
class Play : public testing::Test {
 protected:
  Play() {
    write_tiny_model(folder_ / "model");
    write_tone(folder_ / "me.wav", 140, 3);
    for (const char* name : {"bin", "heard", "tmp"}) fs::create_directory(folder_ / name);
  }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  void add_player(const std::string& name, int exit_code = 0) const {
    const fs::path player = folder_ / "bin" / name;
    std::ofstream(player) << "#!/bin/sh\nfor sound in \"$@\"; do :; done\nset -- '" << file("heard")
                          << "'/*\n[ -e \"$1\" ] || shift\n"
                          << "/bin/cat \"$sound\" > '" << file("heard") << "'/$(($# + 1))\necho "
                          << name << " >> '" << file("called") << "'\nexit " << exit_code << "\n";
    fs::permissions(player, fs::perms::owner_all);
  }

  ProgramResult synthesize(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {
        "synthesize", "--model", file("model"), "--reference", file("me.wav"),
        "--language", "en",      "--threads",   "1",           "--play"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words, {.environment = {"PATH=" + file("bin"), "TMPDIR=" + file("tmp")}});
  }

  std::size_t heard() const {
    return std::distance(fs::directory_iterator(folder_ / "heard"), fs::directory_iterator());
  }

  TemporaryFolder folder_;
};

TEST_F(Play, TheFileIsPlayedByTheFirstPlayerThatIsThere) {
  add_player("ffplay");
  add_player("aplay");
  const auto result = synthesize({"--text", "Hello.", "--out", file("a.wav")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(bytes_in(folder_ / "called"), "aplay\n");
  EXPECT_EQ(bytes_in(folder_ / "heard/1"), bytes_in(folder_ / "a.wav"));
  EXPECT_GT(bytes_in(folder_ / "a.wav").size(), 1000U);
}

TEST_F(Play, WithoutOutTheSoundIsHeardAndNothingIsLeft) {
  add_player("paplay");
  const auto result = synthesize({"--text", "Hello."});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(read_audio(folder_ / "heard/1").frames(), 1000);
  EXPECT_EQ(result.err.find(file("tmp")), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("s of speech in"), std::string::npos) << result.err;
  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
}

TEST_F(Play, LinesArePlayedInTheirOrderAndOtherFormatsAsWav) {
  add_player("pw-play");
  std::ofstream(folder_ / "lines.txt") << "One.\nTwo two two two.\n";
  const auto result = synthesize({"--text-file", file("lines.txt"), "--out", file("a.flac")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  ASSERT_EQ(heard(), 2U);
  for (const char* number : {"1", "2"}) {
    EXPECT_TRUE(bytes_in(folder_ / "heard" / number).starts_with("RIFF"));
    EXPECT_EQ(read_audio(folder_ / "heard" / number).samples,
              read_audio(file(std::string("a-000") + number + ".flac")).samples);
  }
}

TEST_F(Play, WhereAPlayerFailsTheNextOnePlaysAllThatIsLeft) {
  add_player("pw-play", 1);
  add_player("ffplay");
  std::ofstream(folder_ / "lines.txt") << "One.\nTwo.\n";
  const auto result = synthesize({"--text-file", file("lines.txt")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(bytes_in(folder_ / "called"), "pw-play\nffplay\nffplay\n");
}

TEST_F(Play, WhereEveryPlayerFailsTheLastIsNamed) {
  add_player("aplay", 1);
  const auto result = synthesize({"--text", "Hello.", "--out", file("a.wav")});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("myxtts: aplay could not play " + file("a.wav") + " (exit code 1)"),
            std::string::npos)
      << result.err;
  EXPECT_TRUE(fs::exists(folder_ / "a.wav")) << "what was asked for stays";
}

TEST_F(Play, WithoutAPlayerThatIsSaidBeforeAnythingIsSpoken) {
  const auto result = synthesize({"--text", "Hello.", "--out", file("a.wav")});
  EXPECT_EQ(result.exit_code, 2);
  expect_one_sentence(result.err);
  EXPECT_NE(result.err.find("needs pw-play, paplay, aplay or ffplay"), std::string::npos)
      << result.err;
  EXPECT_FALSE(fs::exists(folder_ / "a.wav"));
}

TEST_F(Play, WhatCannotBePlayedIsRefused) {
  add_player("aplay");
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--text", "Hi.", "--out", "-"},
        {"--text", "Hi.", "--out", file("a.wav"), "--stream"},
        {"--save-voice", file("me.safetensors")}}) {
    const auto result = synthesize(more);
    EXPECT_EQ(result.exit_code, 2) << more.back();
    EXPECT_NE(result.err.find("leave --play out"), std::string::npos) << result.err;
  }
  EXPECT_EQ(heard(), 0U);
}

}  // namespace
}  // namespace myxtts::test::play_test
