// SPDX-License-Identifier: Apache-2.0
#include "session/run_record.h"

#include <chrono>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace myxtts::test::run_record_test {
namespace {

using nlohmann::json;

class Record : public testing::Test {
 protected:
  json status() const { return json::parse(contents_of(run_ / "status.json")); }
  bool comes(const std::filesystem::path& file) const {
    for (int tries = 0; tries < 500 && !std::filesystem::exists(file); ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::filesystem::exists(file);
  }
  static PipelineReading reading() {
    PipelineReading made;
    for (const char* name : {"reader", "decoder"}) {
      made.stages.push_back({.name = name,
                             .load = {.busy = std::chrono::seconds(3),
                                      .waiting_for_input = std::chrono::seconds(1)}});
    }
    made.queues = {{.name = "clips", .capacity = 64}, {.name = "ring", .capacity = 3}};
    made.readiness = {.steps = 10, .ready = 10};
    return made;
  }

  TemporaryFolder run_;
};

TEST_F(Record, TellsWhatTheRunDoesAndHowItEnded) {
  RunRecord record(run_.path(), ModelPart::Dvae, "1.2");
  ASSERT_TRUE(comes(run_ / "status.json"));
  EXPECT_EQ(status()["state"], "preparing");
  EXPECT_EQ(status()["stage"], "dvae");
  record.begin(
      {.first_step = 10, .last_step = 50, .example = {.audio = "a.wav"}, .meters = reading});
  record.stepped({.numbers = {.step = 17}});
  record.evaluated({});
  ASSERT_TRUE(comes(run_ / "report.html")) << "with every measurement";
  record.pause();
  record.end("finished");
  const json now = status();
  EXPECT_EQ(now["state"], "finished");
  EXPECT_EQ(now["step"], 17);
  EXPECT_EQ(now["last_step"], 50);
  EXPECT_GT(now["steps_per_second"], 0.0);
  EXPECT_EQ(now["example"]["audio"], "a.wav");
  const json& pipeline = now["pipeline"];
  EXPECT_EQ(pipeline["stages"][0]["busy"], 0.75);
  EXPECT_EQ(pipeline["queues"][0]["to"], "decoder");
  EXPECT_EQ(pipeline["queues"][1]["to"], "trainer");
  EXPECT_EQ(now["verdict"]["code"], "kept-up");
}

TEST_F(Record, KeepsTheSentenceOfAFailureAndTheFirstEndCounts) {
  {
    RunRecord record(run_.path(), ModelPart::Gpt, "1.2");
    record.end("failed", "The disk is full.");
  }
  EXPECT_EQ(status()["state"], "failed");
  EXPECT_EQ(status()["sentence"], "The disk is full.");
  { const RunRecord record(run_.path(), ModelPart::Gpt, "1.2"); }
  EXPECT_EQ(status()["state"], "stopped") << "nobody said how it ended";
}

TEST_F(Record, AFolderThatCannotBeWrittenCostsTheRecordAlone) {
  RunRecord record(run_ / "nowhere", ModelPart::Gpt, "1.2");
  record.evaluated({});
  EXPECT_NO_THROW(record.end("finished"));
}

}  // namespace
}  // namespace myxtts::test::run_record_test
