// SPDX-License-Identifier: Apache-2.0
//
// synthesize for many at once: recordings that are said again, and a file of texts into a folder.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "support/one_sentence.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/tone_corpus.h"

namespace myxtts::test::resynthesize_test {
namespace {

namespace fs = std::filesystem;

class Resynthesize : public testing::Test {
 protected:
  Resynthesize() {
    write_tiny_model(folder_ / "model");
    write_tone_corpus(folder_ / "corpus", 3);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  ProgramResult synthesize(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"synthesize", "--model", path("model"), "--device", "cpu",
                                    "--threads",  "1",       "--language",  "en"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(all);
  }

  TemporaryFolder folder_;
};

TEST_F(Resynthesize, EveryClipOfACorpusIsSaidAgainInItsLength) {
  const auto result = synthesize({"--resynthesize", path("corpus"), "--out", path("copies")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("3 of 3 clips said again"), std::string::npos) << result.err;
  for (const char* name : {"clip00", "clip01", "clip02"}) {
    const auto original = read_audio(folder_ / "corpus" / "wavs" / (std::string(name) + ".wav"));
    const auto copy = read_audio(folder_ / "copies" / (std::string(name) + ".wav"));
    EXPECT_EQ(copy.sample_rate, 24000);
    const double seconds = static_cast<double>(copy.frames()) / 24000.0;
    EXPECT_NEAR(seconds, static_cast<double>(original.frames()) / 22050.0, 0.06) << "to a code";
  }
}

TEST_F(Resynthesize, TheTextMattersAndItsLackIsSaid) {
  const std::string clip = path("corpus") + "/wavs/clip00.wav";
  const auto with = synthesize(
      {"--resynthesize", clip, "--text", "seventeen letters here", "--out", path("with")});
  ASSERT_EQ(with.exit_code, 0) << with.err;
  const auto without = synthesize({"--resynthesize", clip, "--out", path("without")});
  ASSERT_EQ(without.exit_code, 0) << without.err;
  EXPECT_NE(without.err.find("No text is known of"), std::string::npos) << without.err;
  EXPECT_EQ(with.err.find("No text is known of"), std::string::npos) << with.err;
  EXPECT_NE(contents_of(folder_ / "with" / "clip00.wav"),
            contents_of(folder_ / "without" / "clip00.wav"));
  synthesize({"--resynthesize", path("corpus"), "--out", path("all")});
  EXPECT_EQ(contents_of(folder_ / "with" / "clip00.wav"),
            contents_of(folder_ / "all" / "clip00.wav"))
      << "a corpus brings its texts";
}

TEST_F(Resynthesize, AClipThatCannotBeSaidIsNamedAndTheOthersAreThere) {
  write_tone(folder_ / "corpus" / "wavs" / "clip01.wav", 200.0, 0.1);
  add_line(folder_ / "corpus", "clip99", "a clip that is not there");
  const auto result = synthesize({"--resynthesize", path("corpus"), "--out", path("copies")});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.err.find("clip01.wav was left out"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("clip99, line 4 of " + path("corpus") +
                            "/metadata.csv, was left out: not on the disk"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("2 of 4 clips could not be said again"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "copies" / "clip00.wav"));
  EXPECT_TRUE(fs::exists(folder_ / "copies" / "clip02.wav"));
  EXPECT_FALSE(fs::exists(folder_ / "copies" / "clip01.wav"));
}

// Clips of one name in two folders keep the folders, but within --out.
TEST_F(Resynthesize, NoCopyIsWrittenOutsideOfTheFolderThatWasAskedFor) {
  for (const char* side : {"a", "b"}) {
    fs::create_directories(folder_ / side);
    write_tone(folder_ / side / "x.wav", 220.0, 1.0);
  }
  fs::create_directories(folder_ / "list");
  std::ofstream(folder_ / "list" / "metadata.csv")
      << path("a") << "/x.wav|the first one\n../b/x.wav|the second one\n";
  const std::string before = contents_of(folder_ / "a" / "x.wav");
  const auto result =
      synthesize({"--resynthesize", path("list") + "/metadata.csv", "--out", path("copies")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(contents_of(folder_ / "a" / "x.wav"), before);
  std::size_t copies = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "copies")) {
    copies += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(copies, 2U);
}

TEST_F(Resynthesize, WhatDoesNotGoTogetherIsRefused) {
  const std::string corpus = path("corpus");
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--resynthesize", corpus, "--out", path("a.wav")},
        {"--resynthesize", corpus},
        {"--resynthesize", corpus, "--out", path("a"), "--speaker", "Ana"},
        {"--resynthesize", corpus, "--out", path("a"), "--stream"}}) {
    auto quiet = wrong;
    quiet.emplace_back("--quiet");
    const auto result = synthesize(quiet);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    expect_one_sentence(result.err);
  }
}

TEST_F(Resynthesize, FlagsThatItDoesNotReadAreRefusedByName) {
  const std::string corpus = path("corpus");
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--save-voice", path("v")},
                                                {"--cond-len", "3"},
                                                {"--cond-chunk", "3"},
                                                {"--max-ref-len", "3"},
                                                {"--trim-db", "30"},
                                                {"--temperature", "0.5"},
                                                {"--top-k", "5"},
                                                {"--top-p", "0.5"},
                                                {"--repetition-penalty", "2"},
                                                {"--length-penalty", "2"},
                                                {"--beams", "2"},
                                                {"--greedy"},
                                                {"--seed", "2"},
                                                {"--speed", "2"},
                                                {"--stream-chunk", "3"},
                                                {"--batch", "2"},
                                                {"--text", "Good morning."}}) {
    std::vector<std::string> all = {"--quiet", "--resynthesize", corpus, "--out", path("a")};
    all.insert(all.end(), wrong.begin(), wrong.end());
    const auto result = synthesize(all);
    EXPECT_EQ(result.exit_code, 2) << wrong[0] << result.err;
    EXPECT_NE(result.err.find(wrong[0]), std::string::npos) << wrong[0] << result.err;
    expect_one_sentence(result.err);
  }
}

TEST_F(Resynthesize, TwoLinesThatWouldBeOneFileAreRefused) {
  for (const char* lines : {"one|Good morning.\ntwo|Good day.\none|Good night.\n",
                            "0003|Good morning.\none|\nGood night.\n"}) {
    std::ofstream(folder_ / "lines.txt") << lines;
    const auto result =
        synthesize({"--quiet", "--text-file", path("lines.txt"), "--out", path("spoken"),
                    "--reference", path("corpus") + "/wavs/clip00.wav"});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_NE(result.err.find("Lines 1 and 3"), std::string::npos) << result.err;
    expect_one_sentence(result.err);
    EXPECT_FALSE(fs::exists(folder_ / "spoken"));
  }
}

TEST_F(Resynthesize, LinesWithIdsBecomeFilesOfThoseNamesInAFolder) {
  std::ofstream(folder_ / "lines.txt") << "s-01|Good morning.\n\nno id here\nlast|One | two.\n";
  const auto result =
      synthesize({"--text-file", path("lines.txt"), "--out", path("spoken-1.0"), "--reference",
                  path("corpus") + "/wavs/clip00.wav", "--batch", "3"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_ / "spoken-1.0")) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"0003.wav", "last.wav", "s-01.wav"}));
}

TEST_F(Resynthesize, AnIdThatLeavesTheFolderIsRefused) {
  std::ofstream(folder_ / "lines.txt") << "../up|Good morning.\n";
  const auto result =
      synthesize({"--quiet", "--text-file", path("lines.txt"), "--out", path("spoken"),
                  "--reference", path("corpus") + "/wavs/clip00.wav"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  expect_one_sentence(result.err);
}

}  // namespace
}  // namespace myxtts::test::resynthesize_test
