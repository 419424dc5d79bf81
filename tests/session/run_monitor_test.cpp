// SPDX-License-Identifier: Apache-2.0
#include "session/run_monitor.h"

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace myxtts::run_monitor_test {
namespace {

using namespace std::chrono_literals;

// A pipeline whose model device waits for a share of its time.
struct MadePipeline {
  PipelineReading reading;

  MadePipeline() {
    reading.stages = {{.name = "reader"},
                      {.name = "decoder"},
                      {.name = "batcher"},
                      {.name = "collator"},
                      {.name = "features"}};
    reading.queues = {{.name = "clips"},
                      {.name = "buffer"},
                      {.name = "settled"},
                      {.name = "staged"},
                      {.name = "ring"}};
  }

  void run(std::int64_t steps, double waited, double busy) {
    reading.readiness.steps += steps;
    reading.readiness.ready += waited > 0 ? 0 : steps;
    const auto count = static_cast<double>(steps);
    reading.readiness.waited_seconds += waited * count;
    reading.model_device.busy_seconds += busy * count;
    reading.readiness.step_seconds += (waited + busy) * count;
    reading.readiness.step_squares += (waited + busy) * (waited + busy) * count;
  }
};

MonitoredTime good_time() {
  MadePipeline pipeline;
  return {.model = GpuUse{.busy_share = 0.95}, .pipeline = pipeline.reading};
}

std::vector<std::string> causes(const MonitoredTime& time) {
  std::vector<std::string> names;
  for (const auto& warning : warnings_of(time)) names.push_back(warning.cause);
  return names;
}

using Names = std::vector<std::string>;

TEST(RunMonitor, NothingIsSaidOfARunThatGoesWell) {
  EXPECT_EQ(causes(good_time()), Names{});
}

TEST(RunMonitor, EachThresholdHasItsWarning) {
  MonitoredTime time = good_time();
  time.waited_share = 0.21;
  EXPECT_EQ(causes(time), Names{"data loading"});
  time = good_time();
  time.variation = 0.31;
  EXPECT_EQ(causes(time), Names{"variation"});
  time = good_time();
  time.model->busy_share = 0.69;
  EXPECT_EQ(causes(time), Names{"model GPU"});
  time = good_time();
  time.data = GpuUse{.busy_share = 0.81};
  EXPECT_EQ(causes(time), Names{}) << "one card is in use for the model as well";
  time.two_cards = true;
  EXPECT_EQ(causes(time), Names{"data GPU"});
}

TEST(RunMonitor, AWarningHasTheFigureTheLimitAndARemedy) {
  MonitoredTime time = good_time();
  time.model->busy_share = 0.42;
  const std::string sentence = warnings_of(time).front().sentence;
  for (const char* part : {"42 %", "70 %", "--batch-size", "myxtts profile"}) {
    EXPECT_NE(sentence.find(part), std::string::npos) << part << " in: " << sentence;
  }
}

TEST(RunMonitor, NothingIsAdvisedThatTheRunMayNotHave) {
  MonitoredTime starving = good_time();
  starving.waited_share = 0.5;
  MonitoredTime uneven = good_time();
  uneven.variation = 0.5;
  uneven.model->busy_share = 0.4;
  uneven.data = GpuUse{.busy_share = 0.9};
  uneven.two_cards = true;
  for (const MonitoredTime& time : {starving, uneven}) {
    for (const auto& warning : warnings_of(time, {.cache = false, .profile = false})) {
      EXPECT_EQ(warning.sentence.find("profile"), std::string::npos) << warning.sentence;
      EXPECT_EQ(warning.sentence.find("--cache-dataset"), std::string::npos) << warning.sentence;
      EXPECT_TRUE(warning.sentence.ends_with(".")) << warning.sentence;
    }
  }
  EXPECT_EQ(warnings_of(uneven).size(), 3U);
}

TEST(RunMonitor, OneCauseIsSaidOnceWhereBatchesAreLate) {
  MonitoredTime time = good_time();
  time.waited_share = 0.5;
  time.variation = 0.6;
  time.model->busy_share = 0.5;
  EXPECT_EQ(causes(time), Names{"data loading"});
}

TEST(RunMonitor, GaugesAreThoseOfTheLastWholeMinute) {
  test::FakeClock clock;
  MadePipeline pipeline;
  const auto gpu = [](Role role) {
    return GpuUse{.busy_share = role == Role::Data ? 0.1 : 0.9, .watts = 300};
  };
  RunMonitor monitor(
      {}, [&] { return pipeline.reading; }, {}, gpu, clock);
  EXPECT_TRUE(monitor.gauges().empty());
  pipeline.run(100, 0.1, 0.3);
  clock.advance(59s);
  monitor.stepped({});
  EXPECT_TRUE(monitor.gauges().empty());
  clock.advance(1s);
  monitor.stepped({});
  const Metrics expected = {{"monitor.waited_share", 0.25}, {"monitor.step_variation", 0.0},
                            {"gpu.data.use", 0.1},          {"gpu.data.watts", 300},
                            {"gpu.model.use", 0.9},         {"gpu.model.watts", 300}};
  ASSERT_EQ(monitor.gauges().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(monitor.gauges()[i].first, expected[i].first);
    EXPECT_NEAR(monitor.gauges()[i].second, expected[i].second, 1e-6) << expected[i].first;
  }
}

TEST(RunMonitor, AMeasurementBeginsTheMinuteAnew) {
  test::FakeClock clock;
  MadePipeline pipeline;
  RunMonitor monitor(
      {}, [&] { return pipeline.reading; }, {}, {}, clock);
  pipeline.run(100, 0, 0.3);
  clock.advance(50s);
  monitor.evaluated({});
  clock.advance(50s);
  monitor.stepped({});
  EXPECT_TRUE(monitor.gauges().empty());
}

TEST(HourlyWarnings, ACauseIsSaidOnceAnHourAndAnotherOneAtOnce) {
  test::FakeClock clock;
  HourlyWarnings warnings(clock);
  EXPECT_TRUE(warnings.warn("data loading", "first"));
  clock.advance(59min);
  EXPECT_FALSE(warnings.warn("data loading", "again"));
  EXPECT_TRUE(warnings.warn("model GPU", "another"));
  clock.advance(1min);
  EXPECT_TRUE(warnings.warn("data loading", "an hour later"));
  EXPECT_FALSE(warnings.warn("model GPU", "again"));
}

TEST(RunMonitor, ARunThatStarvesForHoursIsToldOnceAnHour) {
  test::FakeClock clock;
  MadePipeline pipeline;
  RunMonitor monitor(
      {}, [&] { return pipeline.reading; }, {}, {}, clock);
  testing::internal::CaptureStderr();
  for (int minute = 0; minute < 150; ++minute) {
    pipeline.run(100, 0.3, 0.3);
    clock.advance(1min);
    monitor.stepped({});
  }
  const std::string log = testing::internal::GetCapturedStderr();
  int said = 0;
  for (auto at = log.find("50 % of the last minute"); at != std::string::npos;
       at = log.find("50 % of the last minute", at + 1)) {
    ++said;
  }
  EXPECT_EQ(said, 3);
}

}  // namespace
}  // namespace myxtts::run_monitor_test
