// SPDX-License-Identifier: Apache-2.0
#include "diagnose/auto/placement.h"

#include <map>

#include <gtest/gtest.h>

#include "base/error.h"
#include "diagnose/auto/choice_file.h"

namespace myxtts::test::calibration_test {
namespace {

using Names = std::vector<std::string>;

// Speeds by the name of the placement, one after the other; 0 is a failure, and so is no entry.
class FakeMachine {
 public:
  explicit FakeMachine(std::map<std::string, std::vector<double>> speeds)
      : speeds_(std::move(speeds)) {}

  MeasurePlacement measure() {
    return [this](const Placement& placement) {
      const std::string name = name_of(placement);
      measured.push_back(name);
      auto& left = speeds_[name];
      if (left.empty()) throw DeviceError(name + " is not there.");
      const double speed = left.front();
      if (left.size() > 1) left.erase(left.begin());
      if (speed == 0) throw DataError("no memory");
      return PlacementReading{.clips_per_second = speed, .step_seconds = 8 / speed};
    };
  }

  Names measured;

 private:
  std::map<std::string, std::vector<double>> speeds_;
};

const Placement kSingle{.mode = Mode::Single};
const Placement kSplit{.mode = Mode::Split, .split_gpu = SplitGpu{0, 16}};
const Placement kDual{.mode = Mode::Dual, .data_gpu = 1, .model_gpu = 0};
const std::vector<Placement> kAll{kSingle, kSplit, kDual};

std::string name_of_fastest(const std::vector<MeasuredPlacement>& table, double tie) {
  const auto* best = fastest(table, tie);
  return best == nullptr ? "none" : name_of(best->placement);
}

TEST(Calibration, EachPlacementIsMeasuredOnceInOrderAndTheFastestIsTaken) {
  FakeMachine machine({{"single", {100}}, {"split 0:16", {90}}, {"dual 1 to 0", {120}}});
  const auto table = calibrate(kAll, machine.measure(), {});
  EXPECT_EQ(machine.measured, (Names{"single", "split 0:16", "dual 1 to 0"}));
  EXPECT_EQ(name_of_fastest(table, kGpuTie), "dual 1 to 0");
}

TEST(Calibration, OfEquallyFastOnesTheSimplestIsTaken) {
  FakeMachine machine({{"single", {99.5}}, {"split 0:16", {90}}, {"dual 1 to 0", {100}}});
  const auto table = calibrate(kAll, machine.measure(), {});
  EXPECT_EQ(name_of_fastest(table, 0.01), "single");
  EXPECT_EQ(name_of_fastest(table, 0.001), "dual 1 to 0");
}

TEST(Calibration, WhatFailsIsALineWithItsReasonAndNotTheEnd) {
  FakeMachine machine({{"split 0:16", {50}}, {"dual 1 to 0", {0}}});
  const auto table = calibrate(kAll, machine.measure(), {});
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[0].reason, "single is not there.");
  EXPECT_EQ(table[2].reason, "no memory");
  EXPECT_EQ(name_of_fastest(table, 0.02), "split 0:16");
  const std::string text = describe(table, &table[1].placement);
  EXPECT_NE(text.find("not measured: single is not there."), std::string::npos) << text;
}

TEST(Calibration, WhereNothingCanBeMeasuredNothingIsChosen) {
  FakeMachine machine({});
  EXPECT_EQ(name_of_fastest(calibrate(kAll, machine.measure(), {.may_cache = true}), 0), "none");
}

TEST(Calibration, OnANoisyMachineCloseOnesAreMeasuredTwiceAndTheBetterReadingCounts) {
  FakeMachine machine({{"single", {95, 110}}, {"split 0:16", {100, 90}}, {"dual 1 to 0", {50}}});
  const auto table = calibrate(kAll, machine.measure(), {.noisy = true});
  EXPECT_EQ(machine.measured,
            (Names{"single", "split 0:16", "dual 1 to 0", "split 0:16", "single"}));
  EXPECT_EQ(table[0].clips_per_second, 110);
  EXPECT_EQ(table[1].clips_per_second, 100);
  EXPECT_EQ(name_of_fastest(table, 0.02), "single");
}

TEST(Calibration, AClearLeaderIsNotMeasuredTwice) {
  FakeMachine machine({{"single", {100}}, {"split 0:16", {50}}, {"dual 1 to 0", {50}}});
  calibrate(kAll, machine.measure(), {.noisy = true});
  EXPECT_EQ(machine.measured.size(), 3U);
}

TEST(Calibration, GpusThatAreCloseButNoTieAreMeasuredAgainInTheOtherOrderAndTheMeanCounts) {
  FakeMachine machine({{"single", {100, 102}}, {"split 0:16", {102, 97}}, {"dual 1 to 0", {90}}});
  const auto table = calibrate(kAll, machine.measure(), {});
  EXPECT_EQ(machine.measured,
            (Names{"single", "split 0:16", "dual 1 to 0", "split 0:16", "single"}));
  EXPECT_NEAR(table[0].clips_per_second, 101, 1e-9);
  EXPECT_NEAR(table[1].clips_per_second, 99.5, 1e-9);
  EXPECT_EQ(name_of_fastest(table, kGpuTie), "single");
}

TEST(Calibration, ASecondLookAtACacheIsJudgedByTheWholeRunToo) {
  FakeMachine machine({{"single", {100}}, {"single, cached", {104, 96}}});
  const auto table =
      calibrate({kSingle}, machine.measure(), {.may_cache = true, .first_epoch_share = 0.5});
  EXPECT_EQ(machine.measured.size(), 4U);
  EXPECT_NEAR(table[1].clips_per_second, 100, 1e-9);
}

// The first of four epochs is as fast as without the cache.
TEST(Calibration, TheCacheIsJudgedByTheWholeRun) {
  FakeMachine machine({{"single", {100}},
                       {"dual 1 to 0", {120}},
                       {"single, cached", {300}},
                       {"dual 1 to 0, cached", {150}}});
  const auto table = calibrate({kSingle, kDual}, machine.measure(),
                               {.may_cache = true, .first_epoch_share = 0.25});
  EXPECT_EQ(machine.measured,
            (Names{"single", "dual 1 to 0", "single, cached", "dual 1 to 0, cached"}));
  ASSERT_EQ(table.size(), 4U);
  EXPECT_NEAR(table[2].clips_per_second, 200, 1e-9);
  EXPECT_EQ(table[2].cold_clips_per_second, 100);
  EXPECT_NEAR(table[3].clips_per_second, 1 / (0.25 / 120 + 0.75 / 150), 1e-9);
  EXPECT_EQ(name_of_fastest(table, 0.0), "single, cached");
}

TEST(Calibration, WhatIsFarBehindInTheFirstEpochIsNotTriedWithACacheButTheSimplestIs) {
  FakeMachine machine({{"single", {50}},
                       {"split 0:16", {60}},
                       {"dual 1 to 0", {120}},
                       {"single, cached", {300}},
                       {"dual 1 to 0, cached", {150}}});
  calibrate(kAll, machine.measure(), {.may_cache = true, .first_epoch_share = 0.25});
  EXPECT_EQ(machine.measured, (Names{"single", "split 0:16", "dual 1 to 0", "single, cached",
                                     "dual 1 to 0, cached"}));
}

TEST(Calibration, TheCacheIsTriedOnTheFastestOfEachModeAndOnWhatLeavesTheModelMost) {
  const Placement split{.mode = Mode::Split, .split_gpu = SplitGpu{0, 64}};
  FakeMachine machine({{"single", {100}},
                       {"split 0:16", {80}},
                       {"split 0:64", {98}},
                       {"single, cached", {110}},
                       {"split 0:16, cached", {120}},
                       {"split 0:64, cached", {109}}});
  const auto table = calibrate({kSingle, kSplit, split}, machine.measure(),
                               {.may_cache = true, .first_epoch_share = 0.01});
  EXPECT_EQ(machine.measured, (Names{"single", "split 0:16", "split 0:64", "single, cached",
                                     "split 0:16, cached", "split 0:64, cached"}));
  EXPECT_EQ(name_of_fastest(table, kGpuTie), "split 0:16, cached");
}

TEST(Calibration, OnACpuTheCacheIsTriedWithTheThreadsThatLeaveTheModelMostToo) {
  const auto threads = [](std::int64_t data, std::int64_t model) {
    return Placement{.mode = Mode::Cpu, .data_threads = data, .model_threads = model};
  };
  FakeMachine machine({{"cpu 2 + 6 threads", {90}},
                       {"cpu 4 + 4 threads", {100}},
                       {"cpu 1 + 8 threads", {85}},
                       {"cpu 2 + 6 threads, cached", {120}},
                       {"cpu 4 + 4 threads, cached", {110}},
                       {"cpu 1 + 8 threads, cached", {140}}});
  const auto table = calibrate({threads(2, 6), threads(4, 4), threads(1, 8)}, machine.measure(),
                               {.may_cache = true, .first_epoch_share = 0.01});
  EXPECT_EQ(machine.measured.size(), 6U);
  EXPECT_EQ(name_of_fastest(table, kCpuTie), "cpu 1 + 8 threads, cached");
}

TEST(Calibration, InARunOfOneEpochTheCacheBringsNothingAndIsNotTaken) {
  FakeMachine machine({{"single", {100}}, {"single, cached", {300}}});
  const auto table = calibrate({kSingle}, machine.measure(), {.may_cache = true});
  EXPECT_EQ(name_of_fastest(table, 0.0), "single");
}

TEST(Calibration, WhereTheCacheIsAskedForItIsNotMeasuredTwice) {
  Placement cached = kSingle;
  cached.cached = true;
  FakeMachine machine({{"single, cached", {100}}});
  const auto table = calibrate({cached}, machine.measure(), {});
  ASSERT_EQ(table.size(), 1U);
  EXPECT_EQ(table[0].clips_per_second, 100);
}

TEST(Calibration, StoppedNothingMoreIsMeasured) {
  FakeMachine machine({{"single", {100}}, {"split 0:16", {90}}, {"dual 1 to 0", {120}}});
  const auto table = calibrate(
      kAll, machine.measure(),
      {.may_cache = true, .noisy = true, .stopped = [&] { return machine.measured.size() >= 2; }});
  EXPECT_EQ(machine.measured.size(), 2U);
  EXPECT_EQ(table.size(), 2U);
}

TEST(Calibration, TheTableShowsFiguresTheChoiceAndWhatWasNotMeasured) {
  std::vector<MeasuredPlacement> table{{.placement = kSingle,
                                        .reading = PlacementReading{.clips_per_second = 412.345,
                                                                    .step_seconds = 0.0388,
                                                                    .ready_share = 0.995,
                                                                    .data_bytes = 500'000'000,
                                                                    .model_bytes = 12'300'000'000},
                                        .clips_per_second = 412.345},
                                       {.placement = kSplit, .reason = "no memory"}};
  EXPECT_EQ(describe(table, &kSingle),
            "Placements\n"
            "  placement   clips/s  step ms   ready    data    model\n"
            "  single        412.3     38.8  99.5 %  500 MB  12.3 GB  <- taken\n"
            "  split 0:16        -        -       -       -        -  not measured: no memory\n"
            "  dual              -        -       -       -        -  not measured: it needs two "
            "GPUs\n"
            "  parallel          -        -       -       -        -  not measured: it needs two "
            "GPUs\n");
}

TEST(Calibration, TheTableSaysWhyThereAreNoRanks) {
  const auto told = [](const std::vector<Placement>& placements) {
    std::vector<MeasuredPlacement> table;
    for (const Placement& placement : placements) table.push_back({.placement = placement});
    return describe(table, nullptr);
  };
  const auto has = [](const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  };
  const Placement threads{.mode = Mode::Cpu, .data_threads = 1, .model_threads = 1};
  const Placement ranks{.mode = Mode::Cpu, .ranks = 2, .rank_batch_size = 4};
  EXPECT_TRUE(has(told({threads}), "it needs two cores, a batch that can be divided"));
  EXPECT_FALSE(has(told({threads, ranks}), "parallel"));
  EXPECT_TRUE(has(told({threads, ranks}), "cpu 2 ranks"));
  EXPECT_TRUE(has(told({kSingle, {.mode = Mode::Dual, .data_gpu = 1, .model_gpu = 0}}),
                  "not measured here: myxtts train --gpus all trains on all of them"));
}

std::string profile_of(double speed) {
  return fmt::format(
      "{{\"clips_per_second\": {}, \"step\": {{\"mean_ms\": 40}}, \"readiness\": 0.5, "
      "\"data\": {{\"peak_bytes\": 7}}, \"model\": {{\"peak_bytes\": 9}}, \"other\": 1}}",
      speed);
}

TEST(ReadingOfAProfile, HasTheFiguresOfTheTable) {
  const PlacementReading reading = reading_from_json(profile_of(25.5));
  EXPECT_EQ(reading.clips_per_second, 25.5);
  EXPECT_EQ(reading.step_seconds, 0.04);
  EXPECT_EQ(reading.ready_share, 0.5);
  EXPECT_EQ(reading.data_bytes, 7);
  EXPECT_EQ(reading.model_bytes, 9);
}

TEST(ReadingOfAProfile, IsRefusedWhereItIsSomethingElse) {
  EXPECT_THROW(reading_from_json("{"), DataError);
  EXPECT_THROW(reading_from_json("{}"), DataError);
  EXPECT_THROW(reading_from_json("[1]"), DataError);
  EXPECT_THROW(reading_from_json(profile_of(0)), DataError);
}

TEST(ReadingOfMetrics, IsThatOfTheLineOfItsStep) {
  const auto line = [](const std::string& event, int step, double speed) {
    return fmt::format(
        "{{\"event\": \"{}\", \"step\": {}, \"clips_per_second\": {}, \"readiness\": 0.75, "
        "\"memory.data_peak\": 7.0, \"memory.model_peak\": 9e3}}\n",
        event, step, speed);
  };
  const std::string run = line("train", 24, 10) + line("validation", 48, 1) + line("train", 48, 20);
  const PlacementReading reading = reading_from_metrics(run, 48);
  EXPECT_EQ(reading.clips_per_second, 20);
  EXPECT_EQ(reading.ready_share, 0.75);
  EXPECT_EQ(reading.data_bytes, 7);
  EXPECT_EQ(reading.model_bytes, 9000);
  EXPECT_THROW(reading_from_metrics(run, 72), DataError);
  EXPECT_THROW(reading_from_metrics(line("train", 2, 0), 2), DataError);
  EXPECT_THROW(reading_from_metrics("{\"event\": \"train\"}\n", 2), DataError);
}

}  // namespace
}  // namespace myxtts::test::calibration_test
