// SPDX-License-Identifier: Apache-2.0
#include "diagnose/scaling/step_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace myxtts::step_time_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RankLink link_of(double gigabytes_per_second, double latency_us = 0) {
  return {.gigabytes_per_second = gigabytes_per_second, .latency_us = latency_us};
}

Cluster one_host(int ranks, RankLink link, double cores = 1000) {
  return {.ranks_per_host = ranks, .inside = std::move(link), .cores = cores};
}

// 100 MB of gradients in four buckets, a pass of ten clips and ranks that are equally fast.
RankTraining training_with(double pass_ms, double update_ms = 0) {
  return {.step = {.clip_ms = pass_ms / 10, .update_ms = update_ms, .spread = 0},
          .batch = 10,
          .parameters = 25'000'000,
          .bucket_bytes = 25'000'000};
}

RankTraining xtts() {
  return {
      .step = reference_step("xtts-v2"), .batch = 32, .parameters = trained_parameters("xtts-v2")};
}

TEST(StepOfRanks, OneRanksIsItsOwn) {
  RankTraining training = xtts();
  training.accumulation = 3;
  const StepPrediction step = predict_step(one_host(1, link_of(1, 1000)), training);
  EXPECT_DOUBLE_EQ(step.step_ms, 3 * training.step.pass_ms(32) + training.step.update_ms);
  EXPECT_DOUBLE_EQ(step.efficiency, 1);
  EXPECT_DOUBLE_EQ(step.clips_per_second, 96 / step.step_ms * 1e3);
  EXPECT_EQ(step.sums_ms, 0);
  EXPECT_EQ(step.bound, ScalingBound::Compute);
}

TEST(StepOfRanks, WithoutEndOfBandwidthAndEqualRanksNothingIsLost) {
  const StepPrediction step = predict_step(one_host(64, link_of(kInfinity)), training_with(90, 5));
  EXPECT_DOUBLE_EQ(step.step_ms, 95);
  EXPECT_DOUBLE_EQ(step.efficiency, 1);
  EXPECT_DOUBLE_EQ(step.clips_per_second, 640 / 0.095);
}

TEST(StepOfRanks, WithoutComputingItIsTheSumsAlone) {
  // Half of 100 MB out and half back, at 1 GB/s, and two hops of a millisecond in each of five
  // sums: four buckets and the agreement.
  const StepPrediction step = predict_step(one_host(2, link_of(1, 1000)), training_with(0));
  EXPECT_NEAR(step.step_ms, 100 + 5 * 2, 1e-9);
  EXPECT_NEAR(step.efficiency, 0, 1e-12);
  EXPECT_EQ(step.bound, ScalingBound::Network);
}

TEST(StepOfRanks, TheLastBucketNeverHidesAndTheOthersDoBehindALongBackwardPass) {
  // 25 ms a bucket; one is whole every 25 ms of the 100 ms that the backward pass takes.
  const StepPrediction even = predict_step(one_host(2, link_of(1)), training_with(150));
  EXPECT_NEAR(even.sums_ms, 100, 1e-9);
  EXPECT_NEAR(even.exposed_ms, 25, 1e-9);
  EXPECT_NEAR(even.step_ms, 175, 1e-9);
  EXPECT_EQ(even.bound, ScalingBound::Compute);
  const StepPrediction longer = predict_step(one_host(2, link_of(1)), training_with(600));
  EXPECT_NEAR(longer.step_ms, 625, 1e-9);
}

TEST(StepOfRanks, AShortBackwardPassLeavesSumsOver) {
  // The first bucket is whole 15 ms into a backward pass of 60; four take 100.
  const StepPrediction step = predict_step(one_host(2, link_of(1)), training_with(90));
  EXPECT_NEAR(step.exposed_ms, 55, 1e-9);
  EXPECT_NEAR(step.step_ms, 145, 1e-9);
  EXPECT_EQ(step.bound, ScalingBound::Network);
}

// Bucket after bucket, as they become whole.
double simulated_exposed(double backward, int buckets, double each) {
  double end = 0;
  for (int i = 1; i <= buckets; ++i) end = std::max(end, backward * i / buckets) + each;
  return end - backward;
}

TEST(StepOfRanks, WhatIsLeftOverIsThatOfBucketsFollowedOneByOne) {
  for (const int buckets : {1, 2, 3, 7, 40}) {
    for (const double pass : {3.0, 30.0, 80.0, 150.0, 151.0, 1000.0}) {
      RankTraining training = training_with(pass);
      training.bucket_bytes = 100'000'000 / buckets;
      if (100'000'000 % buckets != 0) ++training.bucket_bytes;
      const StepPrediction step = predict_step(one_host(2, link_of(1)), training);
      EXPECT_NEAR(step.exposed_ms, simulated_exposed(pass * 2 / 3, buckets, step.sums_ms / buckets),
                  1e-9)
          << buckets << " buckets, " << pass << " ms";
    }
  }
}

TEST(StepOfRanks, AccumulationSumsOncePerStep) {
  RankTraining training = training_with(90, 7);
  const double once = predict_step(one_host(4, link_of(1)), training).step_ms;
  training.accumulation = 3;
  EXPECT_NEAR(predict_step(one_host(4, link_of(1)), training).step_ms, once + 2 * 90, 1e-9);
}

TEST(StepOfRanks, HalfTheBytesOnTheWireTakeHalfTheTime) {
  RankTraining training = training_with(0);
  const double fp32 = predict_step(one_host(8, link_of(1)), training).sums_ms;
  training.wire = Wire::Bf16;
  EXPECT_NEAR(predict_step(one_host(8, link_of(1)), training).sums_ms, fp32 / 2, 1e-9);
}

TEST(StepOfRanks, HostsSumInsideFirstAndShareTheirNetworkOnce) {
  Cluster cluster = one_host(4, link_of(100, 1000));
  cluster.hosts = 2;
  cluster.between = link_of(10, 5000);
  // Inside 2 x 3/4 of 800 MB at 100 GB/s and six hops; between 2 x 1/2 of it at 10 and two.
  EXPECT_NEAR(all_reduce_ms(cluster, 8e8), 12 + 6 * 1 + 80 + 2 * 5, 1e-9);
  EXPECT_NEAR(all_gather_ms(cluster, 8e8), (12 + 6 + 80 + 10) / 2.0, 1e-9);
}

TEST(StepOfRanks, OneRingThroughAllHostsTakesItsSlowestLinkEverywhere) {
  Cluster cluster = one_host(4, link_of(100, 1000));
  cluster.hosts = 2;
  cluster.between = link_of(10, 5000);
  cluster.hierarchical = false;
  EXPECT_NEAR(all_reduce_ms(cluster, 8e8), 2 * 7.0 / 8 * 80 + 14 * 5, 1e-9);
}

TEST(StepOfRanks, AShardedOptimiserUpdatesAnNthAndGathers) {
  RankTraining training = training_with(150, 40);
  training.shard_optimiser = true;
  const StepPrediction step = predict_step(one_host(4, link_of(10)), training);
  EXPECT_NEAR(step.compute_ms, 150 + 10, 1e-9);
  EXPECT_NEAR(step.gather_ms, 3.0 / 4 * 100 / 10, 1e-9);
  EXPECT_NEAR(step.step_ms, 160 + step.exposed_ms + 7.5, 1e-9);
}

TEST(StepOfRanks, TheSlowestOfSeveralIsWaitedFor) {
  EXPECT_EQ(expected_maximum(1), 0);
  EXPECT_NEAR(expected_maximum(2), 1 / std::sqrt(M_PI), 1e-6);
  EXPECT_NEAR(expected_maximum(3), 1.5 / std::sqrt(M_PI), 1e-6);
  EXPECT_NEAR(expected_maximum(4), 1.02938, 1e-5);
  EXPECT_NEAR(expected_maximum(10), 1.53875, 1e-5);
  RankTraining training = training_with(100);
  training.step.spread = 0.05;
  const StepPrediction step = predict_step(one_host(4, link_of(kInfinity)), training);
  EXPECT_NEAR(step.step_ms, 100 + 5 * 1.02938, 1e-4);
}

// Two cores, each rank with a thread that is always busy.
Cluster two_cores(int ranks, double crowding = 1) {
  Cluster cluster = one_host(ranks, link_of(kInfinity), 2);
  cluster.crowding = crowding;
  cluster.model_on_cores = true;
  cluster.hierarchical = false;
  return cluster;
}

RankTraining on_a_core() {
  RankTraining training = training_with(100);
  training.step.core_clip_ms = 10;
  return training;
}

TEST(StepOfRanks, RanksShareTheCoresOfTheirHost) {
  EXPECT_NEAR(predict_step(two_cores(1), on_a_core()).step_ms, 100, 1e-9);
  EXPECT_NEAR(predict_step(two_cores(2), on_a_core()).step_ms, 100, 1e-9);
  const StepPrediction four = predict_step(two_cores(4), on_a_core());
  EXPECT_NEAR(four.step_ms, 200, 1e-9);
  EXPECT_NEAR(four.efficiency, 0.5, 1e-9);
  EXPECT_EQ(four.bound, ScalingBound::Compute);
}

TEST(StepOfRanks, BusyCoresAreSlowerAndOneRankAloneIsNot) {
  EXPECT_NEAR(predict_step(two_cores(1, 1.2), on_a_core()).step_ms, 100, 1e-9);
  EXPECT_NEAR(predict_step(two_cores(2, 1.2), on_a_core()).step_ms, 120, 1e-9);
  EXPECT_NEAR(predict_step(two_cores(4, 1.2), on_a_core()).step_ms, 240, 1e-9);
}

TEST(StepOfRanks, CoresThatCarryTheSumsDoNotComputeMeanwhile) {
  Cluster cluster = two_cores(4);
  cluster.inside.core_ms_per_gigabyte = 400;
  // Each of four sends 2 x 3/4 of 100 MB: 60 core-milliseconds beside the 100 of its pass.
  EXPECT_NEAR(predict_step(cluster, on_a_core()).step_ms, 4 * (100 + 60) / 2.0, 1e-9);
}

TEST(StepOfRanks, GpusThatOutrunTheirHostsCoresAreBoundByData) {
  RankTraining training = training_with(100);
  training.step.core_clip_ms = 2;
  const StepPrediction step = predict_step(one_host(8, link_of(kInfinity), 1), training);
  EXPECT_NEAR(step.step_ms, 160, 1e-9);
  EXPECT_EQ(step.bound, ScalingBound::Data);
}

TEST(StepOfRanks, MoreRanksAndSlowerLinksNeverShortenAStep) {
  double before = 0;
  for (int ranks = 1; ranks <= 128; ++ranks) {
    const double ms = predict_step(one_host(ranks, link_of(10, 5)), xtts()).step_ms;
    EXPECT_GE(ms, before) << ranks;
    before = ms;
  }
  before = kInfinity;
  for (double gigabytes = 0.1; gigabytes < 1000; gigabytes *= 1.3) {
    const double ms = predict_step(one_host(8, link_of(gigabytes, 5)), xtts()).step_ms;
    EXPECT_LE(ms, before) << gigabytes;
    before = ms;
  }
  before = 0;
  for (double latency = 0; latency < 1000; latency += 50) {
    const double ms = predict_step(one_host(8, link_of(10, latency)), xtts()).step_ms;
    EXPECT_GT(ms, before) << latency;
    before = ms;
  }
}

TEST(StepOfRanks, ALargerBatchIsMoreEfficientWhereRanksAreEqual) {
  RankTraining training = xtts();
  training.step.spread = 0;
  double before = 0;
  for (training.batch = 1; training.batch <= 256; ++training.batch) {
    const double efficiency = predict_step(one_host(16, link_of(10, 5)), training).efficiency;
    EXPECT_GT(efficiency, before) << training.batch;
    before = efficiency;
  }
}

TEST(StepOfRanks, TheBatchForAnEfficiencyIsTheSmallestThatHasIt) {
  const Cluster cluster = one_host(8, link_of(10, 5));
  RankTraining training = xtts();
  const auto batch = batch_for_efficiency(cluster, training, 0.9);
  ASSERT_TRUE(batch);
  ASSERT_GT(*batch, 1);
  training.batch = *batch;
  EXPECT_GE(predict_step(cluster, training).efficiency, 0.9);
  training.batch = *batch - 1;
  EXPECT_LT(predict_step(cluster, training).efficiency, 0.9);
  training.step.spread = 0.2;  // eight such ranks wait for 1.28
  EXPECT_FALSE(batch_for_efficiency(cluster, training, 0.9));
}

// docs/results/training-speed.md.
TEST(ReferenceStep, IsTheMeasuredOneOfAnH200) {
  const RankStep step = reference_step("xtts-v2");
  const auto whole = [&](std::int64_t clips) { return step.pass_ms(clips) + step.update_ms; };
  EXPECT_NEAR(whole(3), 13.1, 0.06 * 13.1);
  EXPECT_NEAR(whole(16), 38.7, 0.02 * 38.7);
  EXPECT_NEAR(whole(32), 71.6, 0.02 * 71.6);
  EXPECT_NEAR(whole(64), 139.0, 0.02 * 139.0);
  EXPECT_FALSE(step.measured);
}

TEST(ReferenceStep, IsStretchedToWhatACardTakes) {
  const RankStep step = stretched(reference_step("normal"), 16, 100);
  EXPECT_NEAR(step.pass_ms(16) + step.update_ms, 100, 1e-9);
  EXPECT_TRUE(step.measured);
  EXPECT_GT(step.fixed_ms, 0);
}

}  // namespace
}  // namespace myxtts::step_time_test
