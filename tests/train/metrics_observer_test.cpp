// SPDX-License-Identifier: Apache-2.0
#include "train/metrics_observer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/fake_clock.h"
#include "support/small_disk.h"
#include "support/temporary_folder.h"

namespace myxtts::metrics_observer_test {
namespace {

namespace fs = std::filesystem;
using test::contents_of;
using test::FakeClock;
using test::SmallDisk;
using test::TemporaryFolder;

StepReport report(std::int64_t step) {
  return {.numbers = {.step = step, .loss = 10.0 / static_cast<double>(step), .gradient_norm = 2},
          .position = {.epoch = 3},
          .clips = {1, 2},
          .audio_seconds = 12,
          .learning_rate = 1e-4};
}

std::vector<nlohmann::json> lines_of(const fs::path& run) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(contents_of(run / "metrics.jsonl"));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::string events_in(const fs::path& run) {
  std::string bytes;
  for (const auto& entry : fs::directory_iterator(run)) {
    if (entry.path().filename().string().starts_with("events")) bytes += contents_of(entry.path());
  }
  return bytes;
}

TEST(MetricsObserver, TellsEverySoManyStepsWithThePaceInBetween) {
  const TemporaryFolder run;
  FakeClock clock;
  MetricsObserver observer(run.path(), {.log_steps = 5,
                                        .gauges =
                                            [] {
                                              return Metrics{{"readiness", 0.75}};
                                            },
                                        .clock = &clock});
  for (std::int64_t step = 1; step <= 10; ++step) {
    clock.advance(std::chrono::seconds(step <= 5 ? 1 : 2));
    observer.stepped(report(step));
  }
  const auto lines = lines_of(run.path());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].at("step"), 5);
  EXPECT_EQ(lines[0].at("loss"), 2.0);
  EXPECT_EQ(lines[0].at("lr"), 1e-4);
  EXPECT_EQ(lines[0].at("epoch"), 3);
  EXPECT_EQ(lines[0].at("clips_per_second"), 2.0);
  EXPECT_EQ(lines[1].at("clips_per_second"), 1.0);
  EXPECT_EQ(lines[1].at("audio_hours_per_hour"), 6.0);
  EXPECT_EQ(lines[1].at("readiness"), 0.75);
  EXPECT_NE(events_in(run.path()).find("train/audio_hours_per_hour"), std::string::npos);
}

TEST(MetricsObserver, LossesOfAStageAreToldByTheirNames) {
  const TemporaryFolder run;
  MetricsObserver observer(run.path(), {.log_steps = 1, .loss_names = {"mel_loss", "perplexity"}});
  auto step = report(1);
  step.numbers.losses = {0.25, 300};
  observer.stepped(step);
  observer.evaluated({.step = 1, .losses = {0.5, 200}});
  const auto lines = lines_of(run.path());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].at("mel_loss"), 0.25);
  EXPECT_EQ(lines[0].at("perplexity"), 300);
  EXPECT_EQ(lines[1].at("mel_loss"), 0.5);
  EXPECT_NE(events_in(run.path()).find("validation/perplexity"), std::string::npos);
}

TEST(MetricsObserver, TheTimeOfAMeasurementIsNotThatOfTraining) {
  const TemporaryFolder run;
  FakeClock clock;
  MetricsObserver observer(run.path(), {.log_steps = 1, .clock = &clock});
  clock.advance(std::chrono::seconds(100));
  observer.evaluated({.step = 0, .loss = 1.5, .best = true});
  clock.advance(std::chrono::seconds(1));
  observer.stepped(report(1));
  const auto lines = lines_of(run.path());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].at("event"), "validation");
  EXPECT_EQ(lines[0].at("loss"), 1.5);
  EXPECT_EQ(lines[0].at("best"), 1.0);
  EXPECT_EQ(lines[1].at("clips_per_second"), 2.0);
}

TEST(MetricsObserver, StepsThatWereLeftOutAreToldAndCountedOverResumes) {
  const TemporaryFolder run;
  MetricsObserver observer(run.path(), {.log_steps = 3, .start = {.skipped_steps = 4}});
  auto skipped = report(2);
  skipped.numbers.skipped = true;
  skipped.numbers.loss = std::numeric_limits<double>::quiet_NaN();
  observer.stepped(skipped);
  observer.stepped(report(3));
  const auto lines = lines_of(run.path());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].at("event"), "skipped");
  EXPECT_TRUE(lines[0].at("loss").is_null());
  EXPECT_EQ(lines[1].at("skipped_steps"), 5);
}

TEST(MetricsObserver, AResumedRunTellsNoStepTwice) {
  const TemporaryFolder run;
  TrainingState state;
  {
    MetricsObserver observer(run.path(), {.log_steps = 1});
    for (std::int64_t step = 1; step <= 4; ++step) {
      observer.stepped(report(step));
      if (step == 2) state = {.step = 2, .metrics_position = observer.position()};
    }
  }
  MetricsObserver observer(run.path(), {.log_steps = 1, .start = state});
  for (std::int64_t step = 3; step <= 5; ++step) observer.stepped(report(step));
  std::vector<std::int64_t> steps;
  for (const auto& line : lines_of(run.path())) steps.push_back(line.at("step"));
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

TEST(MetricsObserver, AFullDiskIsSaidOnceAndTrainingGoesOn) {
  const SmallDisk disk(16);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a disk of 16 kB";
  MetricsObserver observer(disk.path(), {.log_steps = 1});
  std::ofstream(disk / "filler") << std::string(100'000, 'x');
  testing::internal::CaptureStderr();
  for (std::int64_t step = 1; step <= 500; ++step) observer.stepped(report(step));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("training goes on"), std::string::npos) << said;
  EXPECT_EQ(said.find("training goes on"), said.rfind("training goes on")) << said;

  fs::remove(disk / "filler");
  observer.stepped(report(501));
  EXPECT_EQ(lines_of(disk.path()).back().at("step"), 501);
}

// The steps of the lines of a kind in TensorBoard's file, in its order.
std::vector<std::int64_t> curve_in(const fs::path& run, const std::string& name) {
  const std::string bytes = events_in(run);
  std::vector<std::int64_t> steps;
  for (std::size_t at = bytes.find(name); at != bytes.npos; at = bytes.find(name, at + 1)) {
    // Before the name: the step's key and varint, two lengths with their keys, and its own length.
    const std::size_t key = bytes.rfind('\x10', at - 8);
    std::int64_t step = 0;
    int shift = 0;
    for (std::size_t byte = key + 1; byte != bytes.npos; ++byte, shift += 7) {
      step |= static_cast<std::int64_t>(bytes[byte] & 0x7f) << shift;
      if ((bytes[byte] & 0x80) == 0) break;
    }
    steps.push_back(step);
  }
  return steps;
}

TEST(MetricsObserver, OnceADiskHasRoomAgainBothFilesSayWhichStepsTheyLack) {
  const SmallDisk disk(64);
  if (!disk.mounted()) GTEST_SKIP() << "this user may not mount a disk of 64 kB";
  MetricsObserver observer(disk.path(), {.log_steps = 2});
  observer.stepped(report(2));
  std::ofstream(disk / "filler") << std::string(100'000, 'x');
  std::int64_t step = 2;
  while (lines_of(disk.path()).back().at("step") == step) observer.stepped(report(step += 2));
  const std::int64_t first = step;  // that the disk refused
  observer.stepped(report(step += 2));
  observer.stepped(report(step += 2));

  fs::remove(disk / "filler");
  observer.stepped(report(step + 2));
  const auto lines = lines_of(disk.path());
  EXPECT_EQ(lines.back().at("event"), "train");
  EXPECT_EQ(lines.back().at("step"), first + 6);
  const auto mark = lines.at(lines.size() - 2);
  EXPECT_EQ(mark.at("event"), "unrecorded");
  EXPECT_EQ(mark.at("step"), first);
  EXPECT_EQ(mark.at("last_step"), first + 4);
  EXPECT_EQ(mark.at("lines"), 3);

  EXPECT_EQ(curve_in(disk.path(), "unrecorded/lines").size(), 1u);
  EXPECT_EQ(curve_in(disk.path(), "train/lr").back(), first + 6);
  // A run that is resumed within what is missing keeps the mark.
  const MetricsLog resumed(disk / "metrics.jsonl", 0, first + 1);
  EXPECT_EQ(lines_of(disk.path()).back(), mark);
}

TEST(MetricsObserver, HistogramsAreAskedForWithEachMeasurement) {
  const TemporaryFolder run;
  int asked = 0;
  const auto histograms = [&asked] {
    ++asked;
    return NamedHistograms{{"gpt.w", {.count = 1, .upper_bounds = {1}, .counts = {1}}}};
  };
  MetricsObserver observer(run.path(), {.log_steps = 1, .histograms = histograms});
  observer.stepped(report(1));
  EXPECT_EQ(asked, 0);
  observer.evaluated({.step = 1});
  EXPECT_EQ(asked, 1);
  observer.stepped(report(2));
  EXPECT_NE(events_in(run.path()).find("weights/gpt.w"), std::string::npos);
}

}  // namespace
}  // namespace myxtts::metrics_observer_test
