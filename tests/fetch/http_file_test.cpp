// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "base/interruption.h"
#include "fetch/fetch_bench.h"
#include "support/environment.h"
#include "support/killed_process.h"
#include "support/small_disk.h"

namespace myxtts::test::http_file_test {
namespace {

namespace fs = std::filesystem;

class HttpFile : public FetchBench {
 protected:
  fs::path part() const { return folder_ / "model.pth.part"; }
  fs::path record() const { return folder_ / "model.pth.part.json"; }

  std::uint64_t present() const { return bytes_present(model("none"), folder_.path()); }

  // Of model.pth the first 32 kB: its server broke off in the middle of the first piece.
  void leave_a_part() {
    HttpClient client({.connections = 1, .piece_bytes = 64U << 10U, .tries = 1});
    const HubModel source{.name = "m", .repository = repository("break-off"), .revision = "main"};
    const auto files = list_files(client, server_->url(), source);
    Progress progress({.title = "Fetching"});
    EXPECT_THROW(fetch_file(client, files.back(), folder_.path(), progress), DataError);
    ASSERT_TRUE(fs::exists(part()));
    ASSERT_TRUE(fs::exists(record()));
    ASSERT_EQ(present(), 32U << 10U);
  }

  // The file as it is on the server, under a repository of its own.
  RemoteFile model(const std::string& fault) const {
    return {.name = "model.pth",
            .url = server_->url() + "/" + repository(fault) + "/resolve/main/model.pth"};
  }

  void fetch(const RemoteFile& file, const fs::path& folder) {
    HttpClient client(quick());
    Progress progress({.title = "Fetching"});
    fetch_file(client, file, folder, progress);
  }
};

TEST_F(HttpFile, ALargeFileComesInPiecesThatTogetherAreTheFileOnce) {
  pull("none");
  std::set<std::string> ranges;
  for (const auto& request : requests("none")) {
    if (request["path"].get<std::string>().ends_with("model.pth")) ranges.insert(request["range"]);
  }
  const std::set<std::string> expected = {"bytes=0-0",           "bytes=0-65535",
                                          "bytes=65536-131071",  "bytes=131072-196607",
                                          "bytes=196608-262143", "bytes=262144-299999"};
  EXPECT_EQ(ranges, expected);
}

TEST_F(HttpFile, WhatIsThereIsNotFetchedAgain) {
  leave_a_part();
  pull("none");
  EXPECT_TRUE(is_whole());
  for (const auto& request : requests("none")) {
    EXPECT_NE(request["range"], "bytes=0-65535") << "half of it was there";
  }
  const std::size_t asked = requests("none").size();
  pull("none");
  EXPECT_EQ(requests("none").size(), asked + 1) << "the list alone: the sums are right";
}

TEST_F(HttpFile, PiecesOfAnotherContentAreNotGluedToIt) {
  leave_a_part();
  std::string text = contents_of(record());
  text.replace(text.find("\"content\":\"") + 11, 4, "feed");
  std::ofstream(record()) << text;
  std::ofstream(part(), std::ios::in | std::ios::out) << "other bytes";
  pull("none");
  EXPECT_TRUE(is_whole());
  const auto asked = requests("none");
  EXPECT_TRUE(std::ranges::any_of(asked, [](const auto& r) {
    return r["range"] == "bytes=0-65535";
  })) << "from the first byte on";
}

TEST_F(HttpFile, ARecordThatClaimsWhatIsNotThereIsNotBelieved) {
  for (const char* lie : {"{", R"({"have": "all"})"}) {
    leave_a_part();
    std::ofstream(record()) << lie;
    pull("none");
    EXPECT_TRUE(is_whole()) << lie;
    fs::remove(folder_ / "model.pth");
  }
  leave_a_part();
  fs::resize_file(part(), 10);  // its record says more
  pull("none");
  EXPECT_TRUE(is_whole());
}

TEST_F(HttpFile, AFileThatIsThereWithOtherBytesIsFetched) {
  std::ofstream(folder_ / "model.pth") << std::string(kModelBytes, 'x');
  pull("none");
  EXPECT_TRUE(is_whole());
}

// Three pieces come of the old content, then the new one is there.
TEST_F(HttpFile, AFileThatChangesMeanwhileIsNeverAMixture) {
  pull("changes");
  EXPECT_EQ(contents_of(folder_ / "model.pth"), std::string(kModelBytes, '\0'));
}

TEST_F(HttpFile, WithoutAnyNameForItsContentAFileBeginsAnew) {
  HttpClient impatient({.connections = 1, .piece_bytes = 64U << 10U, .tries = 1});
  Progress progress({.title = "Fetching"});
  EXPECT_THROW(fetch_file(impatient, model("break-off"), folder_.path(), progress), DataError);
  fetch(model("no-names"), folder_.path());
  EXPECT_TRUE(is_whole());
  const auto asked = requests("no-names");
  EXPECT_TRUE(
      std::ranges::any_of(asked, [](const auto& r) { return r["range"] == "bytes=0-65535"; }));
}

TEST_F(HttpFile, TheTokenGoesToItsHostAlone) {
  for (const char* fault : {"redirect-host", "redirect-port"}) {
    HttpSettings settings = quick();
    settings.token = "hf_secret";
    pull(fault, settings);
    fs::remove(folder_ / "model.pth");
    for (const auto& request : requests(fault)) {
      const bool is_ours = request["host"] == "127.0.0.1:" + std::to_string(server_->port());
      EXPECT_EQ(request["token"].is_string(), is_ours) << request;
    }
  }
}

TEST_F(HttpFile, ADiskThatGetsFullIsSaidAndTheRestGoesOnElsewhere) {
  const SmallDisk disk(128);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a disk";
  try {
    fetch(model("none"), disk.path());
    FAIL() << "300 kB do not fit";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("is full"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(fs::exists(disk / "model.pth"));
}

TEST_F(HttpFile, CtrlCKeepsThePartAndTheNextCallGoesOn) {
  const Interruption interruption;
  HttpSettings settings = quick();
  settings.connections = 1;
  ThreadGroup threads;
  threads.start("ctrl-c", [this] {
    while (!fs::exists(record())) {
    }
    ::kill(::getpid(), SIGINT);
  });
  EXPECT_THROW(pull("throttle-400", settings), Interrupted);
  threads.join();
  EXPECT_TRUE(fs::exists(part()));
  EXPECT_GT(present(), 0U);
  const Interruption again;  // takes the signal back
  pull("none");
  EXPECT_TRUE(is_whole());
}

// In processes of their own, each killed while it fetches; the last one is left alone.
TEST_F(HttpFile, KilledAtAnyMomentItGoesOnAndEndsWhole) {
  for (int round = 0; round < 12; ++round) {
    const auto before = present();
    run_and_kill(
        [this] {
          try {
            pull("throttle-600");
          } catch (...) {
          }
          ::pause();
        },
        std::chrono::milliseconds(150));
    EXPECT_GE(present(), before) << "nothing is lost";
  }
  pull("none");
  EXPECT_TRUE(is_whole());
  // A record that was being written when its process was killed goes with the whole folder.
  const auto is_kept = [](const auto& entry) {
    return !entry.path().filename().string().starts_with(".myxtts-tmp-");
  };
  EXPECT_EQ(std::ranges::count_if(fs::directory_iterator(folder_.path()), is_kept), 4);
}

TEST_F(HttpFile, AProxyIsAskedInPlaceOfTheHost) {
  const Environment proxy({{"http_proxy", server_->url()}, {"no_proxy", ""}});
  HttpClient client(quick());
  const HubModel model{.name = "m", .repository = repository("none"), .revision = "main"};
  const auto files = list_files(client, "http://hub.invalid", model);
  fetch_files(client, model, files, folder_.path());
  EXPECT_TRUE(is_whole());
}

}  // namespace
}  // namespace myxtts::test::http_file_test
