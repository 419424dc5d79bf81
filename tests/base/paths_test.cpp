// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary_folder.h"

namespace myxtts::paths_test {
namespace {

std::string sentence_for(const std::filesystem::path& path, std::size_t limit = 100) {
  try {
    read_text_file(path, "vocabulary", limit);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ReadTextFile, GivesEveryByteOfTheFile) {
  const test::TemporaryFolder folder;
  const std::string text = std::string("سلام\r\nline\0end", 18) + std::string(200'000, 'x');
  std::ofstream(folder / "a.txt", std::ios::binary) << text;
  EXPECT_EQ(read_text_file(folder / "a.txt", "text", text.size()), text);
}

TEST(ReadTextFile, RefusesAFileAboveTheLimitAndSaysBothSizes) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "big") << std::string(2500, 'x');
  EXPECT_EQ(sentence_for(folder / "big", 2499), "The vocabulary " + (folder / "big").string() +
                                                    " has 2.5 kB; at most 2.5 kB are read. Is it "
                                                    "the right file?");
  EXPECT_EQ(read_text_file(folder / "big", "text", 2500).size(), 2500u);
}

TEST(ReadTextFile, RefusesAnEndlessPipe) {
  const test::TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&pipe] { std::ofstream(pipe) << std::string(150, 'x'); });
  EXPECT_NE(sentence_for(pipe).find("has more; at most 100 B"), std::string::npos);
  writer.join();
}

TEST(ReadTextFile, SaysWhatIsWrongWithThePath) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(sentence_for(folder / "none"),
            "The vocabulary " + (folder / "none").string() + " does not exist. Check the path.");
  EXPECT_NE(sentence_for(folder.path()).find("is a folder"), std::string::npos);
}

TEST(CopyApart, NeitherFileChangesWithTheOther) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "a") << "one";
  copy_apart(folder / "a", folder / "b");
  std::fstream(folder / "a", std::ios::in | std::ios::out) << "two";
  EXPECT_EQ(test::contents_of(folder / "a"), "two");
  EXPECT_EQ(test::contents_of(folder / "b"), "one");
  EXPECT_THROW(copy_apart(folder / "none", folder / "c"), DataError);
  EXPECT_FALSE(std::filesystem::exists(folder / "c"));
}

}  // namespace
}  // namespace myxtts::paths_test
