// SPDX-License-Identifier: Apache-2.0
#include "serve/voice_store.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "http/request_error.h"
#include "support/temporary_folder.h"

namespace myxtts::voice_store_test {
namespace {

namespace fs = std::filesystem;

const auto kAnything = [](const fs::path&) {};

class Voices : public testing::Test {
 protected:
  void put(const std::string& name) const {
    const fs::path path = folder_ / "voices" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
  }

  static int status_of(const std::function<void()>& work) {
    try {
      work();
    } catch (const RequestError& error) {
      return error.status();
    }
    return 200;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& voice : voices_.list()) found.push_back(voice.name);
    return found;
  }

  test::TemporaryFolder folder_;
  bool made_ = fs::create_directories(folder_ / "voices");
  VoiceStore voices_{folder_ / "voices", {.clips = 3, .bytes = 100}};
};

TEST_F(Voices, FindsClipsFoldersAndSavedVoicesAndNothingElse) {
  for (const char* file :
       {"anna.wav", "bob/1.mp3", "bob/2.FLAC", "bob/notes.txt", "carl.safetensors", "readme.txt",
        ".hidden.wav", "empty/notes.txt", "anna.safetensors"}) {
    put(file);
  }
  fs::create_directory(folder_ / "voices" / "nothing");
  EXPECT_EQ(names(), (std::vector<std::string>{"anna", "bob", "carl"}));
  EXPECT_EQ(voices_.find("bob")->clips.size(), 2U);
  EXPECT_EQ(voices_.find("anna")->saved.filename(), "anna.safetensors");
  EXPECT_FALSE(voices_.find("nothing"));
  EXPECT_FALSE(voices_.find("../voices/anna"));
}

TEST_F(Voices, KeepsRenamesAndDeletesWhatIsSent) {
  const std::vector<std::string> clips = {"one", "two"};
  std::vector<fs::path> checked;
  voices_.add("new", clips, [&](const fs::path& path) { checked.push_back(path); });
  EXPECT_EQ(checked.size(), 2U);
  EXPECT_EQ(voices_.find("new")->clips.size(), 2U);
  EXPECT_EQ(test::contents_of(voices_.find("new")->clips[1]), "two");
  put("anna.wav");
  voices_.rename("new", "newer");
  voices_.rename("anna", "ann");
  EXPECT_EQ(names(), (std::vector<std::string>{"ann", "newer"}));
  EXPECT_EQ(status_of([&] { voices_.rename("ann", "newer"); }), 409);
  voices_.remove("newer");
  voices_.remove("ann");
  EXPECT_TRUE(fs::is_empty(folder_ / "voices"));
  EXPECT_EQ(status_of([&] { voices_.remove("ann"); }), 404);
}

TEST_F(Voices, LeavesNothingOfClipsThatAreRefused) {
  const std::vector<std::string> clips = {"one", "two"};
  EXPECT_THROW(voices_.add("new", clips,
                           [](const fs::path& path) {
                             if (path.filename() == "02.wav") throw DataError("no voice in it");
                           }),
               DataError);
  EXPECT_TRUE(fs::is_empty(folder_ / "voices"));
  const std::vector<std::string> many(4, "x");
  const std::vector<std::string> large = {std::string(101, 'x')};
  EXPECT_EQ(status_of([&] { voices_.add("new", many, kAnything); }), 413);
  EXPECT_EQ(status_of([&] { voices_.add("new", large, kAnything); }), 413);
  EXPECT_EQ(status_of([&] { voices_.add("new", {}, kAnything); }), 400);
  EXPECT_TRUE(fs::is_empty(folder_ / "voices"));
}

TEST_F(Voices, NoNameLeadsOutOfTheFolder) {
  const std::vector<std::string> clips = {"one"};
  for (const char* name : {"", ".", "..", "../x", "a/b", "a\\b", ".x", "a\nb", "a\x7f"}) {
    EXPECT_EQ(status_of([&] { voices_.add(name, clips, kAnything); }), 400) << name;
    put("anna.wav");
    EXPECT_EQ(status_of([&] { voices_.rename("anna", name); }), 400) << name;
  }
  EXPECT_EQ(status_of([&] { voices_.add(std::string(65, 'x'), clips, kAnything); }), 400);
  EXPECT_EQ(status_of([&] { voices_.remove("../voices"); }), 404);
  EXPECT_EQ(status_of([&] { VoiceStore("").add("x", clips, kAnything); }), 409);
}

}  // namespace
}  // namespace myxtts::voice_store_test
