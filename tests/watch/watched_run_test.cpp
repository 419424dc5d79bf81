// SPDX-License-Identifier: Apache-2.0
#include "watch/watched_run.h"

#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "audio/audio_file.h"
#include "run/run_directory.h"
#include "support/temporary_folder.h"
#include "watch/report_file.h"

namespace myxtts::test::watched_run_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void put(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

class Watched : public testing::Test {
 protected:
  Watched() {
    std::string metrics;
    for (int step = 1; step <= 100; ++step) {
      metrics += R"({"event":"train","step":)" + std::to_string(step) + R"(,"epoch":0,"loss":)" +
                 std::to_string(10 - step / 20) + ",\"readiness\":1}\n";
      if (step % 25 == 0) {
        metrics += R"({"event":"validation","step":)" + std::to_string(step) +
                   ",\"loss\":" + (step == 75 ? "2.5" : "3.5") + ",\"best\":0}\n";
      }
    }
    put(run_ / "metrics.jsonl", metrics);
    put(run_ / "config.yaml", "train:\n  stage: gpt  # default\n");
    put(run_ / "log.txt", "one\n");
    put(run_ / "plan.json", R"({"mode":"cpu"})");
    put(run_ / "status.json",
        R"({"state":"stopped","stage":"gpt","step":100,"last_step":200,"pipeline":{"stages":[]}})");
    put(run_ / "skipped.jsonl", R"({"file":"a.wav","reason":"silent"})"
                                "\n");
    put(run_ / "checkpoints/step-0000100/state.json", R"({"seconds":12.5})");
    fs::create_directory_symlink("checkpoints/step-0000100", run_ / "latest");
    fs::create_directories(run_ / "samples/step-0000100");
    const std::vector<float> sound(22050, 0.1F);
    for (const char* name : {"01.wav", "01-original.wav"}) {
      write_wav(run_ / "samples/step-0000100" / name, sound, 22050);
    }
    put(run_ / "samples/step-0000100/01.txt", "Hi </script><b>.\n");
  }

  WatchedRun watched() const { return WatchedRun({.id = "run", .folder = run_}); }

  TemporaryFolder folder_;
  fs::path run_ = folder_ / "run";
};

TEST_F(Watched, TellsWhatTheFolderHolds) {
  WatchedRun run = watched();
  const json facts = run.facts();
  const json& line = facts["run"];
  EXPECT_EQ(line["state"], "stopped");
  EXPECT_EQ(line["sentence"], "Stopped at step 100; it can be resumed.");
  EXPECT_EQ(line["step"], 100);
  EXPECT_EQ(line["last_step"], 200);
  EXPECT_EQ(line["best"], json({{"loss", 2.5}, {"step", 75}}));
  EXPECT_EQ(line["validation"], json({{"loss", 3.5}, {"step", 100}}));
  EXPECT_EQ(line["seconds_left"], nullptr);
  EXPECT_EQ(line["notes"], json::array());
  EXPECT_EQ(facts["plan"]["mode"], "cpu");
  EXPECT_EQ(facts["totals"]["seconds_trained"], 12.5);
  EXPECT_EQ(facts["totals"]["samples"], 1);
  EXPECT_EQ(facts["totals"]["skipped_clips"], 1);
  EXPECT_EQ(facts["checkpoints"][0]["is_latest"], true);
  EXPECT_EQ(facts["commands"]["hear"], nullptr);
  EXPECT_EQ(facts["config"][0]["key"], "train.stage");
  const json curves = run.curves({.names = {"train/loss"}, .from = 40, .to = 41})["curves"];
  EXPECT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves["train/loss"],
            json({{"exact", true}, {"steps", {40, 41}}, {"values", {8.0, 8.0}}}));
  const json few = run.curves({.names = {"train/loss"}, .points = 10})["curves"]["train/loss"];
  EXPECT_EQ(few["exact"], false);
  EXPECT_EQ(few["steps"].size(), 10U);
  EXPECT_EQ(few["count"][0], 10);
}

TEST_F(Watched, SaysWhatTheBestIsChosenByAndWhyACommandCannotBeHad) {
  EXPECT_EQ(watched().facts()["best_by"], "loss");
  put(run_ / "config.yaml", "run:\n  best_by: cer  # flag --best-by cer\n");
  const json facts = watched().facts();
  EXPECT_EQ(facts["best_by"], "cer");
  EXPECT_EQ(facts["checkpoints"][0]["sample_cer"], nullptr);
  EXPECT_EQ(facts["commands_missing_codes"]["hear"], "no-model");
  EXPECT_EQ(facts["commands_missing"]["hear"], "No model was saved yet.");
  EXPECT_EQ(facts["commands_missing_codes"]["resume"], nullptr);
  fs::remove(run_ / "config.yaml");
  const json without = watched().facts();
  EXPECT_EQ(without["commands"]["resume"], nullptr);
  EXPECT_EQ(without["commands_missing_codes"]["resume"], "no-config");
}

TEST_F(Watched, NamesLinesThatAFullDiskDidNotTakeAndCheckpointsThatAreDamaged) {
  EXPECT_EQ(watched().facts()["checkpoints"][0]["is_damaged"], true) << "it has no seal";
  std::ofstream(run_ / "metrics.jsonl", std::ios::app)
      << R"({"event":"unrecorded","step":101,"last_step":112,"lines":12})"
         "\n";
  const json line = watched().line();
  ASSERT_EQ(line["notes"].size(), 1U);
  EXPECT_EQ(line["notes"][0],
            "metrics.jsonl lacks 12 lines that a full disk did not take; log.txt says when.");
  EXPECT_EQ(line["note_codes"][0], json({{"code", "unrecorded-lines"}, {"count", 12}}));
}

// Its files come one after another.
TEST_F(Watched, ARunThatIsBeingPreparedLacksNothing) {
  for (const char* file : {"metrics.jsonl", "config.yaml", "log.txt", "plan.json"}) {
    fs::remove(run_ / file);
  }
  const RunDirectory held(run_);
  put(run_ / "status.json", R"({"state":"preparing"})");
  const json line = watched().line();
  EXPECT_EQ(line["state"], "preparing");
  EXPECT_EQ(line["notes"], json::array());
}

TEST_F(Watched, FollowsLinesAsTheyComeAndSaysWhenAllIsNew) {
  WatchedRun run = watched();
  FollowedPlace place = run.place();
  EXPECT_EQ(run.points_since(place), json::object());
  std::ofstream(run_ / "metrics.jsonl", std::ios::app)
      << R"({"event":"train","step":101,"loss":null})"
         "\n";
  EXPECT_EQ(run.points_since(place),
            json({{"train/loss", {{"steps", {101}}, {"values", {nullptr}}}}}));
  EXPECT_EQ(run.points_since(place), json::object());
  put(run_ / "metrics.jsonl", R"({"event":"train","step":1,"loss":4})"
                              "\n");
  EXPECT_EQ(run.points_since(place), nullptr);
  EXPECT_EQ(run.points_since(place), json::object());
}

// Each file of a run gone, empty, cut short or full of something else: the rest is shown.
TEST_F(Watched, WhateverIsMissingOrDamagedIsSaidAndTheRestIsShown) {
  const std::vector<std::string> files = {
      "metrics.jsonl", "config.yaml", "log.txt", "plan.json", "status.json",
      "skipped.jsonl", "checkpoints", "latest",  "samples",   "samples/step-0000100/01.wav"};
  for (const std::string& file : files) {
    const fs::path kept = folder_ / "kept";
    fs::rename(run_ / file, kept);
    for (const char* instead :
         {"", "{", "[[[[", "\xff\xfe\0x", "{\"state\":5,\"step\":1e300,\"last_step\":-1e300}"}) {
      WatchedRun run = watched();
      EXPECT_NO_THROW(run.facts()) << file;
      EXPECT_NO_THROW(run.samples()) << file;
      EXPECT_NO_THROW(run.curves({})) << file;
      EXPECT_EQ(run.line()["step"],
                file == "metrics.jsonl" || file == "status.json" ? run.line()["step"] : json(100));
      put(run_ / file, instead);
    }
    fs::remove_all(run_ / file);
    if (file == "metrics.jsonl" || file == "config.yaml" || file == "status.json" ||
        file == "plan.json" || file == "log.txt") {
      EXPECT_EQ(watched().line()["notes"].size(), 1U) << file;
    }
    fs::rename(kept, run_ / file);
  }
  EXPECT_EQ(watched().line()["notes"], json::array());
  fs::remove_all(run_);
  EXPECT_FALSE(watched().is_there());
  EXPECT_NO_THROW(watched().facts());
}

json report_in(const fs::path& file) {
  const std::string page = contents_of(file);
  const std::string mark = R"(<script type="application/json" id="report">)";
  const auto begin = page.find(mark) + mark.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST_F(Watched, TheReportHoldsEverythingAndNoTagOfAText) {
  ReportFile report(run_, "1.0");
  report.write();
  const json held = report_in(report.path());
  EXPECT_EQ(held["/api/run"]["run"]["step"], 100);
  const json& sample = held["/api/samples"]["measurements"][0]["samples"][0];
  EXPECT_EQ(sample["text"], "Hi </script><b>.");
  for (const char* kind : {"synthesis", "recording"}) {
    const std::string url = held["data"][sample[kind].get<std::string>()];
    EXPECT_TRUE(url.starts_with("data:audio/")) << url.substr(0, 30);
  }
  EXPECT_EQ(held["left_out"], nullptr);
  EXPECT_EQ(held["/api/curves"]["curves"]["train/loss"]["steps"].size(), 100U);
}

TEST_F(Watched, AReportStaysBelowItsSizeAndSaysWhatItLeftOut) {
  const std::vector<float> sound(48000, 0.1F);
  std::mt19937 random(1);
  std::vector<float> noise(48000);
  for (float& value : noise) value = static_cast<float>(random()) / 5e9F;
  for (int step = 1000; step < 1012; ++step) {
    const fs::path folder = run_ / "samples" / ("step-000" + std::to_string(step));
    put(folder / "01.txt", "Text.");
    write_wav(folder / "01.wav", noise, 24000);
    write_wav(folder / "01-original.wav", sound, 24000);
  }
  const std::size_t whole = [&] {
    ReportFile report(run_, "1.0");
    report.write();
    return static_cast<std::size_t>(fs::file_size(report.path()));
  }();
  const std::size_t most = whole - 60'000;
  ReportFile report(run_, "1.0", most);
  report.write();
  EXPECT_LE(fs::file_size(report.path()), most);
  const json held = report_in(report.path());
  const auto left_out = held["left_out"]["sounds"].get<int>();
  EXPECT_GT(left_out, 0);
  EXPECT_LT(left_out, 12);
  const json& measurements = held["/api/samples"]["measurements"];
  for (const json& each : {measurements.front(), measurements.back()}) {
    const std::string url = each["samples"][0]["synthesis"];
    EXPECT_TRUE(held["data"].contains(url)) << "the first and the newest come before others";
  }
}

}  // namespace
}  // namespace myxtts::test::watched_run_test
