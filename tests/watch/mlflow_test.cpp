// SPDX-License-Identifier: Apache-2.0
#include "watch/mlflow.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "base/child_process.h"
#include "support/temporary_folder.h"

namespace myxtts::test::mlflow_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr MlflowSender::Pace kQuick{.between = 20ms, .longest = 100ms, .last = 30s};

// tests/support/mlflow_server.py and a run directory.
class Mlflow : public testing::Test {
 protected:
  Mlflow() {
    std::filesystem::create_directories(run_);
    std::ofstream(run_ / "config.yaml") << "train:\n  lr: 5e-06  # flag --lr\n";
  }
  ~Mlflow() override { stop(); }

  void start(int port = 0) {
    const std::string tests = std::getenv("MYXTTS_TEST_DATA");
    std::filesystem::remove(folder_ / "port");
    server_.emplace(std::vector<std::string>{"python3", tests + "/support/mlflow_server.py",
                                             folder_ / "port", folder_ / "kept",
                                             std::to_string(port)});
    while (!std::filesystem::exists(folder_ / "port")) {
      ASSERT_FALSE(server_->wait_for(5ms)) << "it does not start";
    }
    std::ifstream(folder_ / "port") >> port_;
  }
  void stop() {
    if (server_) server_->send(SIGKILL);
    server_.reset();
  }
  void mood(const std::string& word) {
    const std::string file = (folder_ / "kept").string() + ".mood";
    if (word.empty()) {
      std::filesystem::remove(file);
    } else {
      std::ofstream(file) << word;
    }
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/"; }

  void add_lines(int first, int last) {
    std::ofstream file(run_ / "metrics.jsonl", std::ios::app);
    for (int step = first; step <= last; ++step) {
      file << R"({"event":"train","step":)" << step << R"(,"loss":)" << step << R"(.5,"nan":null})"
           << "\n";
    }
  }
  json kept() const {
    if (!std::filesystem::exists(folder_ / "kept")) return json::object();
    return json::parse(contents_of(folder_ / "kept"));
  }
  std::size_t metrics() const {
    const json all = kept();
    std::size_t count = 0;
    if (all.contains("runs")) {
      for (const auto& run : all["runs"]) count += run["metrics"].size();
    }
    return count;
  }
  static bool soon(const std::function<bool()>& is_so) {
    for (int tries = 0; tries < 1000; ++tries) {
      if (is_so()) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }

  TemporaryFolder folder_;
  std::filesystem::path run_ = folder_ / "voice";
  std::optional<ChildProcess> server_;
  int port_ = 0;
};

TEST_F(Mlflow, GetsEveryNumberOnceWithItsStepTheSettingsAndTheEnd) {
  start();
  add_lines(1, 10);
  MlflowSender sender(url(), run_, kQuick);
  EXPECT_TRUE(soon([&] { return metrics() == 10; })) << metrics();
  add_lines(11, 2500);  // more than one request may hold
  sender.finish("FINISHED");
  const json run = kept()["runs"]["run0"];
  ASSERT_EQ(run["metrics"].size(), 2500U) << "what is null has no number";
  for (std::size_t i = 0; i < 2500; ++i) {
    ASSERT_EQ(run["metrics"][i], json({"train/loss", static_cast<double>(i + 1) + 0.5, i + 1}));
  }
  EXPECT_EQ(run["name"], "voice");
  EXPECT_EQ(run["status"], "FINISHED");
  EXPECT_EQ(run["params"]["train.lr"], "5e-06");
}

TEST_F(Mlflow, WhatAServerDidNotTakeIsSentByTheProcessThatContinues) {
  start();
  add_lines(1, 5);
  {
    MlflowSender sender(url(), run_, kQuick);
    EXPECT_TRUE(soon([&] { return metrics() == 5; }));
    mood("500");
    add_lines(6, 9);
    sender.finish("KILLED");
  }
  EXPECT_EQ(metrics(), 5U);
  mood("");
  // A resumed run cuts the file behind its checkpoint, here of step 7.
  std::string text = contents_of(run_ / "metrics.jsonl");
  text.resize(text.find(R"("step":8)"));
  text.resize(text.rfind('\n') + 1);
  std::ofstream(run_ / "metrics.jsonl", std::ios::trunc) << text;
  MlflowSender sender(url(), run_, kQuick);
  EXPECT_TRUE(soon([&] { return metrics() == 7; })) << metrics();
  sender.finish("FINISHED");
  EXPECT_EQ(kept()["runs"].size(), 1U) << "it is the same run there";
}

TEST_F(Mlflow, AServerThatIsUnwellIsAskedAgainAndCostsNothing) {
  start();
  mood("nonsense");
  add_lines(1, 3);
  MlflowSender sender(url(), run_, {.between = 20ms, .longest = 100ms, .last = 500ms});
  EXPECT_TRUE(soon([&] { return kept().value("requests", 0) >= 2; }));
  stop();
  std::this_thread::sleep_for(100ms);
  mood("");
  const int port = port_;
  start(port);
  EXPECT_TRUE(soon([&] { return metrics() == 3; }));
  mood("slow");
  add_lines(4, 6);
  std::this_thread::sleep_for(100ms);
  const auto began = std::chrono::steady_clock::now();
  sender.finish("FINISHED");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s) << "a run does not wait for it";
}

}  // namespace
}  // namespace myxtts::test::mlflow_test
