// SPDX-License-Identifier: Apache-2.0
#include "diagnose/scaling/step_time.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "config/model.h"
#include "model/gpt_specs.h"
#include "model/tensor_spec.h"

namespace myxtts {
namespace {

constexpr double kBackwardShare = 2.0 / 3.0;
constexpr std::int64_t kMostBatch = 4096;
constexpr int kWeightBytes = 4;  // masters are gathered

// Half a ring: a reduce-scatter or an all-gather.
double half_ring_ms(int ranks, double bytes, const RankLink& link) {
  if (ranks < 2) return 0;
  const double hops = ranks - 1;
  return hops / ranks * bytes / (link.gigabytes_per_second * 1e6) + hops * link.latency_us / 1e3;
}

// Where one ring goes through every rank, its slowest link is everywhere.
RankLink slowest_link(const Cluster& cluster) {
  if (cluster.hosts == 1) return cluster.inside;
  if (cluster.ranks_per_host == 1) return cluster.between;
  RankLink link = cluster.between;
  link.gigabytes_per_second =
      std::min(cluster.inside.gigabytes_per_second, cluster.between.gigabytes_per_second);
  link.latency_us = std::max(cluster.inside.latency_us, cluster.between.latency_us);
  return link;
}

double half_ms(const Cluster& cluster, double bytes) {
  if (!cluster.hierarchical) return half_ring_ms(cluster.ranks(), bytes, slowest_link(cluster));
  return half_ring_ms(cluster.ranks_per_host, bytes, cluster.inside) +
         half_ring_ms(cluster.hosts, bytes, cluster.between);
}

double wire_bytes(const RankTraining& training) {
  return static_cast<double>(training.parameters) * (training.wire == Wire::Bf16 ? 2 : 4);
}

// Fills in what the sums take, and gives that of one bucket.
double add_sums(StepPrediction& step, const Cluster& cluster, const RankTraining& training,
                double backward_ms) {
  const double bytes = wire_bytes(training);
  if (cluster.ranks() == 1 || bytes == 0) return 0;
  const double buckets = std::ceil(bytes / static_cast<double>(training.bucket_bytes));
  const double each = all_reduce_ms(cluster, bytes / buckets);
  step.sums_ms = buckets * each;
  step.exposed_ms = std::max(each, backward_ms / buckets + buckets * each - backward_ms);
  return each;
}

// Core-milliseconds that the cores of a rank's host spend on its sums and gathering.
double carrying_ms(const Cluster& cluster, const RankTraining& training) {
  const int n = cluster.ranks();
  if (n == 1) return 0;
  const double share = static_cast<double>(n - 1) / n;
  const double weights =
      training.shard_optimiser ? static_cast<double>(training.parameters) * kWeightBytes : 0.0;
  const double gigabytes = share * (2 * wire_bytes(training) + weights) / 1e9;
  return gigabytes * slowest_link(cluster).core_ms_per_gigabyte;
}

double core_work_ms(const RankTraining& training) {
  return training.step.core_clip_ms * static_cast<double>(training.batch * training.accumulation);
}

double alone_ms(const Cluster& cluster, const RankTraining& training) {
  const double path =
      static_cast<double>(training.accumulation) * training.step.pass_ms(training.batch) +
      training.step.update_ms;
  return std::max(path, core_work_ms(training) / cluster.cores);
}

double crowding(const Cluster& cluster, const RankTraining& training) {
  const double whole = alone_ms(cluster, training) * cluster.cores;
  const double one = whole > 0 ? core_work_ms(training) / whole : 1.0;
  if (one >= 1) return 1;
  const double busy = std::min(1.0, cluster.ranks_per_host * one);
  return 1 + (cluster.crowding - 1) * (busy - one) / (1 - one);
}

double gathering_ms(const Cluster& cluster, const RankTraining& training) {
  if (!training.shard_optimiser) return 0;
  return all_gather_ms(cluster, static_cast<double>(training.parameters) * kWeightBytes);
}

double shared_cores_ms(const Cluster& cluster, const RankTraining& training, double crowded) {
  const double rank = crowded * core_work_ms(training) + carrying_ms(cluster, training);
  return cluster.ranks_per_host * rank / cluster.cores;
}

// The network, where more than the last bucket is left over or what is left is half of the step.
ScalingBound bound_of(const StepPrediction& step, const Cluster& cluster, double bucket_ms) {
  if (step.cores_ms >= step.step_ms) {
    return cluster.model_on_cores ? ScalingBound::Compute : ScalingBound::Data;
  }
  const double waits = step.exposed_ms + step.gather_ms + step.agreement_ms;
  const bool more_than_last = step.exposed_ms > 1.001 * bucket_ms;
  return more_than_last || 2 * waits > step.step_ms ? ScalingBound::Network : ScalingBound::Compute;
}

// `extreme` is expected_maximum() of the ranks.
StepPrediction predict(const Cluster& cluster, const RankTraining& training, double extreme) {
  const int n = cluster.ranks();
  const double crowded = crowding(cluster, training);
  const double slowed = cluster.model_on_cores ? crowded : 1.0;
  const double pass = slowed * training.step.pass_ms(training.batch);
  const double passes = static_cast<double>(training.accumulation) * pass;
  const double update = slowed * training.step.update_ms / (training.shard_optimiser ? n : 1);

  StepPrediction step{.ranks = n,
                      .compute_ms = passes + update,
                      .straggler_ms = extreme * training.step.spread * passes,
                      .gather_ms = gathering_ms(cluster, training),
                      .agreement_ms = all_reduce_ms(cluster, 0),
                      .cores_ms = shared_cores_ms(cluster, training, crowded)};
  const double bucket_ms = add_sums(step, cluster, training, kBackwardShare * pass);
  const double path =
      step.compute_ms + step.straggler_ms + step.exposed_ms + step.gather_ms + step.agreement_ms;
  step.step_ms = std::max(path, step.cores_ms);
  if (step.step_ms <= 0) return step;
  const auto clips = static_cast<double>(n * training.batch * training.accumulation);
  step.clips_per_second = clips / step.step_ms * 1e3;
  step.efficiency = alone_ms(cluster, training) / step.step_ms;
  step.bound = bound_of(step, cluster, bucket_ms);
  return step;
}

void check(const Cluster& cluster) {
  MYXTTS_CHECK(cluster.hosts > 0 && cluster.ranks_per_host > 0 && cluster.cores > 0,
               "a cluster of {} x {} ranks and {} cores", cluster.hosts, cluster.ranks_per_host,
               cluster.cores);
}

constexpr const char* kMeasured = "xtts-v2";
// Fitted to steps of 3 to 64 clips on an H200 (docs/results/training-speed.md).
constexpr double kFixedMs = 2.8;
constexpr double kClipMs = 2.06;
constexpr double kUpdateMs = 3.5;
// A core decodes 498 clips of FLAC a second (docs/results/data.md).
constexpr double kCoreClipMs = 2.0;

}  // namespace

double all_reduce_ms(const Cluster& cluster, double bytes) {
  return 2 * half_ms(cluster, bytes);
}

double all_gather_ms(const Cluster& cluster, double bytes) {
  return half_ms(cluster, bytes);
}

// The integral of x over the density n phi(x) Phi(x)^(n - 1).
double expected_maximum(int n) {
  if (n < 2) return 0;
  constexpr double kEnd = 8;
  constexpr int kSlices = 400;
  constexpr double kWidth = 2 * kEnd / kSlices;
  double sum = 0;
  for (int i = 0; i < kSlices; ++i) {
    const double x = -kEnd + (i + 0.5) * kWidth;
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double below = std::erfc(-x / std::numbers::sqrt2) / 2;
    sum += x * n * density * std::pow(below, n - 1) * kWidth;
  }
  return sum;
}

StepPrediction predict_step(const Cluster& cluster, const RankTraining& training) {
  check(cluster);
  return predict(cluster, training, expected_maximum(cluster.ranks()));
}

std::optional<std::int64_t> batch_for_efficiency(const Cluster& cluster, RankTraining training,
                                                 double efficiency) {
  check(cluster);
  const double extreme = expected_maximum(cluster.ranks());
  for (training.batch = 1; training.batch <= kMostBatch; ++training.batch) {
    if (predict(cluster, training, extreme).efficiency >= efficiency) return training.batch;
  }
  return {};
}

std::int64_t trained_parameters(const std::string& model_size) {
  return parameter_count(gpt_specs(model_preset(model_size).gpt));
}

RankStep reference_step(const std::string& model_size) {
  const double layers = static_cast<double>(model_preset(model_size).gpt.layers) /
                        static_cast<double>(model_preset(kMeasured).gpt.layers);
  const double parameters = static_cast<double>(trained_parameters(model_size)) /
                            static_cast<double>(trained_parameters(kMeasured));
  return {.fixed_ms = kFixedMs * layers,
          .clip_ms = kClipMs * parameters,
          .update_ms = kUpdateMs * parameters,
          .core_clip_ms = kCoreClipMs};
}

RankStep stretched(const RankStep& reference, std::int64_t clips, double measured_ms) {
  const double factor = measured_ms / (reference.pass_ms(clips) + reference.update_ms);
  RankStep step = reference;
  step.fixed_ms *= factor;
  step.clip_ms *= factor;
  step.update_ms *= factor;
  step.measured = true;
  return step;
}

}  // namespace myxtts
