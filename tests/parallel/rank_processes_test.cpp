// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_processes.h"

#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace myxtts::rank_processes_test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

using Lines = std::vector<std::string>;

// What a shell does until it is told otherwise.
const std::string kForever = "while :; do sleep 0.02; done";

// Ranks that are shells; every rank runs the same script, in which $RANK tells them apart and $DIR
// is a folder of the test's.
class RankProcessesTest : public testing::Test {
 protected:
  RankProcessesTest() { setenv("DIR", folder_.path().c_str(), 1); }
  ~RankProcessesTest() override { unsetenv("DIR"); }

  RankProcesses::Settings settings(int ranks, const std::string& script) {
    return {.ranks = ranks,
            .command = {"/bin/sh", "-c", script},
            .patience = 300ms,
            .show = [this](const std::string& line) {
              shown_.push_back(line);
              if (on_line_) on_line_(line);
            }};
  }

  RankProcesses::Outcome run(int ranks, const std::string& script) {
    return RankProcesses(settings(ranks, script)).run();
  }

  // Sends us a signal once so many ranks have said the words.
  void when_said(const std::string& words, int times, int signal) {
    on_line_ = [this, words, times, signal, next = on_line_,
                heard = 0](const std::string& line) mutable {
      if (next) next(line);
      if (line.ends_with(words) && ++heard == times) ::kill(::getpid(), signal);
    };
  }

  bool was_shown(const std::string& words) const {
    return std::ranges::any_of(
        shown_, [&](const auto& line) { return line.find(words) != std::string::npos; });
  }

  myxtts::test::TemporaryFolder folder_;
  Lines shown_;
  std::function<void(const std::string&)> on_line_;
};

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST_F(RankProcessesTest, EachRankIsToldItsPlaceAndAllEndWell) {
  auto all = settings(3,
                      "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR "
                      "$MASTER_PORT > $DIR/$RANK");
  all.port = 4321;
  const auto outcome = RankProcesses(all).run();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.cause, "");
  for (const std::string rank : {"0", "1", "2"}) {
    EXPECT_EQ(test::contents_of(folder_ / rank), rank + " 3 " + rank + " 3 127.0.0.1 4321\n");
  }
}

TEST_F(RankProcessesTest, WhatTheLauncherHadOfARanksVariablesIsReplaced) {
  setenv("LOCAL_WORLD_SIZE", "77", 1);
  EXPECT_EQ(
      run(1, "test $(env | grep -c LOCAL_WORLD_SIZE=) = 1 && test $LOCAL_WORLD_SIZE = 1").exit_code,
      0);
  unsetenv("LOCAL_WORLD_SIZE");
}

TEST_F(RankProcessesTest, LinesOfOtherRanksSayWhoseTheyAreAndTheirOutputIsDropped) {
  // In two pieces, which must not be torn apart by those of the other rank.
  run(3,
      "if [ $RANK != 0 ]; then for i in 1 2 3 4 5; do printf one >&2; printf ' line\\n' >&2; "
      "done; echo gone; printf last >&2; fi");
  Lines expected;
  for (const std::string rank : {"1", "2"}) {
    for (int i = 0; i < 5; ++i) expected.push_back("[rank " + rank + "] one line");
    expected.push_back("[rank " + rank + "] last");
  }
  std::ranges::stable_sort(shown_, {}, [](const auto& line) { return line.substr(0, 8); });
  EXPECT_EQ(shown_, expected);
}

TEST_F(RankProcessesTest, AFailureEndsAllAndIsToldWithItsLastWords) {
  const auto outcome = run(  // others that are not told would never end
      3, "if [ $RANK = 1 ]; then echo 'myxtts: The disk is full.' >&2; exit 3; fi; " + kForever);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.cause,
            "The run ended because rank 1 ended with exit code 3; its last words: myxtts: The disk "
            "is full.");
  EXPECT_TRUE(was_shown("rank 1 ended with exit code 3; the other ranks are told to end"));
}

TEST_F(RankProcessesTest, ThoseThatEndBecauseOfTheFirstAreNotTheCause) {
  const auto outcome = run(3, "if [ $RANK = 2 ]; then exit 5; fi; trap 'exit 9' TERM; " + kForever);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_TRUE(has(outcome.cause, "rank 2 ended with exit code 5; it said nothing."));
}

TEST_F(RankProcessesTest, AKilledRankIsTheCauseWithItsSignal) {
  const auto outcome = run(3, "if [ $RANK = 0 ]; then kill -KILL $$; fi; " + kForever);
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  EXPECT_TRUE(has(outcome.cause, "rank 0 was killed by SIGKILL")) << outcome.cause;
}

// Ranks of ours that have ended and were not yet asked how.
int ended_children() {
  std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  int ended = 0;
  for (std::string child; children >> child;) {
    std::ifstream status("/proc/" + child + "/stat");
    std::string word;
    for (int i = 0; i < 3; ++i) status >> word;  // number, (name), state
    ended += word == "Z" ? 1 : 0;
  }
  return ended;
}

TEST_F(RankProcessesTest, OfEndsThatAreSeenAtOnceTheKilledOneIsTheCause) {
  on_line_ = [this](const std::string&) {
    std::ofstream(folder_ / "go") << "go";
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (ended_children() < 2 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    on_line_ = {};
  };
  const auto outcome = run(2,
                           "if [ $RANK = 1 ]; then echo ready >&2; kill -KILL $$; fi; while [ ! -e "
                           "$DIR/go ]; do sleep 0.02; done; exit 4");
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  EXPECT_TRUE(has(outcome.cause, "rank 1 was killed by SIGKILL")) << outcome.cause;
}

TEST_F(RankProcessesTest, ARankThatIsStoppedIsKilledAtOnceAndNamed) {
  auto patient =
      settings(2,
               "if [ $RANK = 1 ]; then echo $$ > $DIR/1; kill -STOP $$; fi; while ! grep "
               "-q 'State:.T' /proc/$(cat $DIR/1)/status; do sleep 0.02; done; exit 6");
  patient.patience = 1h;
  EXPECT_EQ(RankProcesses(patient).run().exit_code, 6);
  EXPECT_TRUE(was_shown("rank 1 is stopped, and is killed"));
}

TEST_F(RankProcessesTest, RanksThatAreDeafAreKilledAfterTheTimeGiven) {
  EXPECT_EQ(RankProcesses::Settings{}.patience, 5s);
  auto deaf = settings(
      3,
      "if [ $RANK = 0 ]; then while [ ! -e $DIR/1 -o ! -e $DIR/2 ]; do sleep 0.02; done; exit "
      "6; fi; trap '' TERM; touch $DIR/$RANK; " +
          kForever);
  const auto time_of = [&](std::chrono::milliseconds patience) {
    for (const char* rank : {"1", "2"}) fs::remove(folder_ / rank);
    deaf.patience = patience;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(RankProcesses(deaf).run().exit_code, 6);
    return std::chrono::steady_clock::now() - start;
  };
  const auto at_once = time_of(1ms);
  const auto after_a_while = time_of(900ms);
  EXPECT_GE(after_a_while, 900ms);
  // Whoever waited for the usual time would take it in both.
  EXPECT_LT(at_once, RankProcesses::Settings{}.patience);
}

TEST_F(RankProcessesTest, RankZeroHasTheTimeToKeepWhatWasDone) {
  const std::string others = "while [ ! -e $DIR/0 ]; do sleep 0.02; done; exit 6";
  const std::string saves = "trap 'sleep 0.8; touch $DIR/saved; exit 143' TERM; touch $DIR/0; ";
  EXPECT_GE(RankProcesses::Settings{}.time_to_save, 60s);
  EXPECT_EQ(run(2, "if [ $RANK = 1 ]; then " + others + "; fi; " + saves + kForever).exit_code, 6);
  EXPECT_TRUE(fs::exists(folder_ / "saved")) << "longer than the patience with others";

  fs::remove(folder_ / "saved");
  fs::remove(folder_ / "0");
  auto impatient = settings(2, "if [ $RANK = 1 ]; then " + others + "; fi; " + saves + kForever);
  impatient.time_to_save = 400ms;
  EXPECT_EQ(RankProcesses(impatient).run().exit_code, 6);
  EXPECT_FALSE(fs::exists(folder_ / "saved")) << "but not for ever";
}

TEST_F(RankProcessesTest, HowARankEndedIsKnownWhereSuchNewsWereIgnored) {
  std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run(1, "exit 5").exit_code, 5);
}

TEST_F(RankProcessesTest, EveryRankHasItsShareOfTheCoresThatTheLauncherMayUse) {
  run(2, "grep Cpus_allowed_list /proc/self/status > $DIR/$RANK");
  const auto cores_of = [this](const char* rank) {
    std::ifstream file(folder_ / rank);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_FALSE(cores_of("0").empty());
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "there is one core";
  EXPECT_NE(cores_of("0"), cores_of("1"));
}

TEST_F(RankProcessesTest, SignalsArePassedOnAndTheRanksHaveTheTimeTheyNeed) {
  std::signal(SIGHUP, SIG_DFL);  // ignored where the tests run under nohup
  for (const auto& [signal, name] :
       {std::pair(SIGINT, "INT"), std::pair(SIGTERM, "TERM"), std::pair(SIGHUP, "HUP")}) {
    on_line_ = {};
    when_said("ready", 2, signal);
    const std::string code = std::to_string(128 + signal);
    // More than the patience that a failure has.
    const auto outcome =
        run(3, std::string("trap 'sleep 0.6; echo saved > $DIR/") + name + "$RANK; exit " + code +
                   "' " + name + "; echo ready >&2; " + kForever);
    EXPECT_EQ(outcome.exit_code, 128 + signal);
    EXPECT_EQ(outcome.cause, "");
    for (const char* rank : {"1", "2"})
      EXPECT_TRUE(fs::exists(folder_ / (std::string(name) + rank)));
  }
}

TEST_F(RankProcessesTest, RanksThatEndWellInSpiteOfASignalEndWell) {
  when_said("ready", 1, SIGINT);
  EXPECT_EQ(run(2, "trap 'exit 0' INT; test $RANK = 1 && sleep 0.1 && echo ready >&2; " + kForever)
                .exit_code,
            0);
}

TEST_F(RankProcessesTest, ASecondSignalKills) {
  when_said("ready", 1, SIGINT);
  when_said("first", 1, SIGINT);
  const auto outcome =
      run(2, "trap 'echo first >&2' INT; test $RANK = 1 && echo ready >&2; " + kForever);
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.cause, "");
}

TEST_F(RankProcessesTest, AFailureAfterASignalIsToldAllTheSame) {
  when_said("ready", 1, SIGTERM);
  const auto outcome =
      run(2, "test $RANK = 1 && trap 'exit 3' TERM && echo ready >&2; " + kForever);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_TRUE(has(outcome.cause, "rank 1 ended with exit code 3")) << outcome.cause;
}

TEST_F(RankProcessesTest, NoSignalIsLeftForTheLauncherItself) {
  when_said("ready", 1, SIGTERM);
  on_line_ = [next = on_line_](const std::string& line) {
    next(line);
    if (line.ends_with("ready")) ::kill(::getpid(), SIGINT);
  };
  run(2, "test $RANK = 1 && echo ready >&2; " + kForever);
  SUCCEED() << "we are still here";
}

TEST_F(RankProcessesTest, AProgramThatDoesNotExistIsSaidToBeSo) {
  auto wrong = settings(1, "");
  wrong.command = {"/no/such/program"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(RankProcesses(wrong).run().exit_code, 127);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "myxtts: /no/such/program cannot be started: No such file or directory.\n");
}

// What a process of ours leaves behind when it ends becomes ours, until the end of the scope.
struct Heir {
  Heir() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  Heir(const Heir&) = delete;
  Heir& operator=(const Heir&) = delete;
  ~Heir() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
};

TEST_F(RankProcessesTest, WhoLeavesEarlyLeavesNoRankBehind) {
  const Heir heir;
  { const RankProcesses processes(settings(3, "exec sleep 1000")); }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(RankProcessesTest, ALauncherThatIsKilledLeavesNoRankBehind) {
  const Heir heir;
  const pid_t launcher = ::fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    when_said("ready", 2, SIGKILL);
    run(3, "echo ready >&2; exec sleep 1000");
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(launcher, &status, 0), launcher);
  ASSERT_TRUE(WIFSIGNALED(status));
  for (int rank = 0; rank < 3; ++rank) {  // waits without end for a rank that lives
    ASSERT_GT(::waitpid(-1, &status, 0), 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(FreePort, IsFreeAndAnotherEachTime) {
  const int port = free_port();
  const int file = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  EXPECT_EQ(::bind(file, reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  EXPECT_NE(free_port(), port) << "it is taken";
  ::close(file);
}

}  // namespace
}  // namespace myxtts::rank_processes_test
