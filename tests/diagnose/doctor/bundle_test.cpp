// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/bundle.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/environment.h"

namespace myxtts::bundle_test {
namespace {

namespace fs = std::filesystem;

class Bundle : public testing::Test {
 protected:
  Bundle() : folder(fs::temp_directory_path() / ("myxtts-bundle-" + std::to_string(getpid()))) {
    fs::create_directories(folder / "run");
  }
  ~Bundle() override { fs::remove_all(folder); }

  void write(const fs::path& name, const std::string& text) {
    std::ofstream(folder / name) << text;
  }

  // What the system's tar says of the bundle.
  std::string tar(const std::string& arguments) {
    const std::string command = "tar " + arguments + " -f " + (folder / "b.tar").string() + " > " +
                                (folder / "said").string();
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::ifstream file(folder / "said");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  fs::path folder;
  const Identity someone{.homes = {"/home/ada"},
                         .users = {"ada", "adalovelace"},
                         .hosts = {"engine.example.org", "engine"}};
};

TEST_F(Bundle, HoldsTheReportsTheConfigAndTheRunsFilesAndNothingElse) {
  write("run/log.txt", "step 1\n");
  write("run/profile.json", "{}");
  write("run/secret.wav", "voice");
  write_bundle(
      folder / "b.tar",
      {{"doctor.txt", "table"}, {"doctor.json", "{}"}, {"config.yaml", "data:\n  train: x\n"}},
      folder / "run", someone);
  EXPECT_EQ(tar("-t"), "doctor.txt\ndoctor.json\nconfig.yaml\nrun/log.txt\nrun/profile.json\n");
  EXPECT_EQ(tar("-x -O config.yaml"), "data:\n  train: x\n");
  EXPECT_EQ(tar("-x -O doctor.txt"), "table");
}

TEST_F(Bundle, NoTextInItNamesTheUserTheHostOrTheHome) {
  write("run/log.txt",
        "reads /home/ada/corpus on engine.example.org as ada (adalovelace@engine)\n");
  write_bundle(folder / "b.tar",
               {{"doctor.txt", "disk at /home/ada"}, {"doctor.json", "{\"at\": \"/home/ada/x\"}"}},
               folder / "run", someone);
  EXPECT_EQ(tar("-x -O"),
            "disk at ~{\"at\": \"~/x\"}"
            "reads ~/corpus on <host> as <user> (<user>@<host>)\n");
}

TEST_F(Bundle, TheArchiveItselfNamesNobody) {
  write_bundle(folder / "b.tar", {{"doctor.txt", "t"}}, std::nullopt, someone);
  EXPECT_EQ(tar("-tv --numeric-owner --utc").substr(0, 14), "-rw-r--r-- 0/0");
  EXPECT_NE(tar("-tv --utc").find("1970-01-01"), std::string::npos);
}

TEST_F(Bundle, OfALongLogTheEndIsPackedFromAWholeLineOn) {
  std::string log;
  while (log.size() < 5'000'000)
    log += "a line of the log, number " + std::to_string(log.size()) + "\n";
  write("run/log.txt", log + "the last line\n");
  write_bundle(folder / "b.tar", {{"doctor.txt", "t"}}, folder / "run", someone);
  const std::string packed = tar("-x -O run/log.txt");
  EXPECT_LE(packed.size(), 4'000'000u);
  EXPECT_GT(packed.size(), 3'999'000u);
  EXPECT_EQ(packed.rfind("a line of the log, number ", 0), 0u);
  EXPECT_TRUE(packed.ends_with("the last line\n"));
}

TEST_F(Bundle, FilesThatWereNamedButAreNotThereAreErrorsThatNameThem) {
  const auto failure = [this](const std::optional<fs::path>& run,
                              const fs::path& file) -> std::string {
    try {
      write_bundle(file, {{"doctor.txt", "t"}}, run, someone);
    } catch (const DataError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_NE(failure(folder / "nowhere", folder / "b.tar").find("nowhere"), std::string::npos);
  EXPECT_NE(failure(folder / "run", folder / "b.tar").find("no run directory"), std::string::npos);
  EXPECT_NE(failure({}, folder / "no/folder/b.tar").find("b.tar"), std::string::npos);
}

TEST(Redaction, NamesInsideOtherWordsStay) {
  const Identity identity{.users = {"max"}, .hosts = {"gpu"}};
  EXPECT_EQ(redact("max_steps maximum max gpu0 gpu, climax/max", identity),
            "max_steps maximum <user> gpu0 <host>, climax/<user>");
}

TEST(Redaction, TheRootFolderIsNobodysHome) {
  EXPECT_EQ(redact("/usr/lib", {.homes = {"/"}, .users = {""}, .hosts = {""}}), "/usr/lib");
}

TEST(Redaction, TheIdentityOfThisProcessHoldsItsHomeUserAndHost) {
  const test::Environment variables{{"HOME", "/home/someone"}, {"USER", "someone"}};
  const Identity identity = Identity::of_this_process();
  EXPECT_EQ(redact("/home/someone/x someone", identity), "~/x <user>");
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  EXPECT_EQ(redact(std::string("on ") + host.data(), identity), "on <host>");
}

}  // namespace
}  // namespace myxtts::bundle_test
