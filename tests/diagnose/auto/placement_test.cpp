// SPDX-License-Identifier: Apache-2.0
#include "diagnose/auto/placement.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "config/field.h"
#include "diagnose/memory/memory_plan.h"
#include "support/fake_gpus.h"

namespace myxtts::test::placement_test {
namespace {

using Names = std::vector<std::string>;

DevicePlan planned(const RunConfig& config, const Machine& machine) {
  return plan_with_savers(config, machine, model_preset("tiny"));
}

std::vector<Placement> placements(const RunConfig& config, const Machine& machine) {
  return possible_placements(config, machine, planned(config, machine));
}

Names names(const std::vector<Placement>& found) {
  Names all;
  for (const Placement& placement : found) all.push_back(name_of(placement));
  return all;
}

Machine without_gpus(int cores) {
  Machine machine = FakeGpus().machine;
  machine.cpu.logical_cores = cores;
  machine.cpu.physical_cores = cores;
  return machine;
}

TEST(AutoPlacement, OneGpuIsTriedWholeAndDividedTheSimplestFirst) {
  EXPECT_EQ(names(placements({}, FakeGpus().h200().machine)),
            (Names{"single", "split 0", "split 0:16", "split 0:32"}));
}

TEST(AutoPlacement, TwoGpusAreTriedInBothOrders) {
  EXPECT_EQ(names(placements({}, FakeGpus().h200().l4().machine)),
            (Names{"single", "split 0", "split 0:16", "split 0:32", "dual 1 to 0", "dual 0 to 1"}));
}

TEST(AutoPlacement, OnTheCpuRolesShareTheCoresInSeveralWaysAndNoneTwice) {
  RunConfig odd;
  odd.train.batch_size = 3;
  EXPECT_EQ(names(placements(odd, without_gpus(2))),
            (Names{"cpu 1 + 1 threads", "cpu 1 + 2 threads", "cpu 2 + 2 threads"}));
  EXPECT_EQ(names(placements(odd, without_gpus(16))),
            (Names{"cpu 4 + 12 threads", "cpu 1 + 15 threads", "cpu 8 + 8 threads",
                   "cpu 1 + 16 threads", "cpu 16 + 16 threads"}));
  EXPECT_EQ(names(placements({}, without_gpus(1))), (Names{"cpu 1 + 1 threads"}));
}

TEST(AutoPlacement, OnTheCpuRanksAreTriedThatShareTheBatchAndHaveACoreEach) {
  const auto ranks = [](const RunConfig& config, int cores) {
    Names found;
    for (const Placement& placement : placements(config, without_gpus(cores))) {
      if (placement.ranks) found.push_back(flags_of(placement));
    }
    return found;
  };
  RunConfig config;
  config.train.batch_size = 12;
  const std::string two = "--device cpu --ranks 2 --batch-size 6";
  const std::string four = "--device cpu --ranks 4 --batch-size 3";
  EXPECT_EQ(ranks(config, 16), (Names{two, four}));  // eight have no equal part
  EXPECT_EQ(ranks(config, 3), (Names{two}));
  EXPECT_EQ(ranks(config, 1), Names{});
  RunConfig threads = config;
  threads.devices.model_threads = 2;
  EXPECT_EQ(ranks(threads, 16), Names{});
  RunConfig budget;
  budget.train.batch_tokens = 4000;
  EXPECT_EQ(ranks(budget, 16), Names{});
  EXPECT_TRUE(std::ranges::none_of(placements(config, FakeGpus().h200().l4().machine),
                                   [](const Placement& found) { return !!found.ranks; }));
}

TEST(AutoPlacement, RanksTrainTheStepsOfTheUsualPlanTogether) {
  const Machine machine = without_gpus(16);
  const DevicePlan usual = planned({}, machine);
  ASSERT_EQ(usual.batch_size % 2, 0);
  const Placement two{.mode = Mode::Cpu, .ranks = 2, .rank_batch_size = usual.batch_size / 2};
  const RunConfig found = placed({}, two, usual);
  EXPECT_EQ(found.parallel.ranks, 2);
  EXPECT_EQ(*found.train.batch_size * 2, usual.batch_size);
  EXPECT_EQ(found.train.grad_accum, usual.grad_accum);
  EXPECT_FALSE(placed({}, {.mode = Mode::Cpu}, usual).parallel.ranks);
  EXPECT_EQ(name_of(two), "cpu 2 ranks");
}

TEST(AutoPlacement, WhatAPersonHasSetIsNotVaried) {
  RunConfig config;
  config.devices.device = DeviceKind::Cpu;  // although there is a GPU
  config.devices.model_threads = 3;
  config.data.cache_dataset = true;
  const auto found = placements(config, FakeGpus().h200().machine);
  EXPECT_EQ(names(found), (Names{"cpu 4 + 3 threads, cached", "cpu 1 + 3 threads, cached",
                                 "cpu 8 + 3 threads, cached", "cpu 16 + 3 threads, cached"}));
}

// Every flag that is shown asks for the very settings that are measured.
TEST(AutoPlacement, FlagsAndSettingsSayTheSame) {
  const Machine machine = FakeGpus().h200().l4().machine;
  const DevicePlan usual = planned({}, machine);
  const RunConfig split = placed({}, {.mode = Mode::Split, .split_gpu = SplitGpu{0, 16}}, usual);
  EXPECT_EQ(flags_of({.mode = Mode::Split, .split_gpu = SplitGpu{0, 16}, .cached = true}),
            "--split-gpu 0:16 --cache-dataset");
  EXPECT_EQ(planned(split, machine).mode, Mode::Split);
  EXPECT_EQ(planned(split, machine).data.multiprocessors, 16);

  const Placement pair{.mode = Mode::Dual, .data_gpu = 1, .model_gpu = 0};
  EXPECT_EQ(flags_of(pair), "--data-gpu 1 --model-gpu 0");
  const DevicePlan dual = planned(placed({}, pair, usual), machine);
  EXPECT_EQ(dual.mode, Mode::Dual);
  EXPECT_EQ(dual.data.gpu->name, "NVIDIA L4");

  const Placement cpu{.mode = Mode::Cpu, .data_threads = 2, .model_threads = 5};
  EXPECT_EQ(flags_of(cpu), "--device cpu --data-threads 2 --model-threads 5");
  EXPECT_EQ(planned(placed({}, cpu, usual), machine).model.threads, 5);
  EXPECT_EQ(flags_of({.mode = Mode::Single}), "--mode single");
}

// Two cards of 24 GB would get another batch than one; a placement must not change what is learnt.
TEST(AutoPlacement, EveryPlacementTrainsTheStepsOfTheUsualPlan) {
  const Machine machine = FakeGpus().l4().l4().machine;
  const DevicePlan usual = planned({}, machine);
  const Placement pair{.mode = Mode::Dual, .data_gpu = 1, .model_gpu = 0};
  ASSERT_NE(usual.batch_size, 24);
  EXPECT_EQ(planned(placed({}, pair, usual), machine).batch_size, usual.batch_size);
  RunConfig own;
  own.train.batch_size = 5;
  EXPECT_EQ(placed(own, pair, usual).train.batch_size, 5);
}

EffectiveConfig cache_set_by(Origin::Kind kind) {
  EffectiveConfig settings = make_effective_config({});
  const Field* field = find_field("data.cache_dataset");
  settings.origins.at(static_cast<std::size_t>(field - all_fields().data())).kind = kind;
  return settings;
}

TEST(AutoPlacement, TheCacheIsFreeToBeTurnedOnWhereNobodyDecidedAboutIt) {
  const Placement plain{.mode = Mode::Single};
  const Placement cached{.mode = Mode::Single, .cached = true};
  EXPECT_TRUE(may_cache(cache_set_by(Origin::Kind::Default), std::nullopt));
  EXPECT_FALSE(may_cache(cache_set_by(Origin::Kind::File), std::nullopt));
  EXPECT_FALSE(may_cache(cache_set_by(Origin::Kind::File), plain));
  // The run's own config.yaml, read again: the cache was turned on in spite of its "false".
  EXPECT_TRUE(may_cache(cache_set_by(Origin::Kind::File), cached));
  EXPECT_FALSE(may_cache(cache_set_by(Origin::Kind::Flag), cached));
}

}  // namespace
}  // namespace myxtts::test::placement_test
