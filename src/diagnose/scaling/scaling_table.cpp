// SPDX-License-Identifier: Apache-2.0
#include "diagnose/scaling/scaling_table.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/message_text.h"
#include "diagnose/scaling/step_time.h"

namespace myxtts {
namespace {

constexpr double kGoodEfficiency = 0.9;
constexpr std::int64_t kUsualBatch = 32;
constexpr int kUsualNvlinks = 18;                                // H100 and H200
constexpr std::int64_t kBucketsOnCores = std::int64_t{8} << 20;  // GradientExchange's
constexpr double kCoresForGpu = 8;                               // of a usual host

std::string links_of(const Cluster& cluster) {
  if (cluster.ranks() == 1) return "-";
  if (cluster.hosts == 1) return cluster.inside.name;
  if (cluster.ranks_per_host == 1) return cluster.between.name;
  return fmt::format("{}, {}", cluster.inside.name, cluster.between.name);
}

ScalingRow row_of(const Cluster& cluster, const RankTraining& training) {
  return {.links = links_of(cluster),
          .cluster = cluster,
          .step = predict_step(cluster, training),
          .batch_for_90 = batch_for_efficiency(cluster, training, kGoodEfficiency)};
}

RankTraining training_of(const std::string& model_size, const ScalingRequest& request) {
  return {.step = reference_step(model_size),
          .batch = request.batch_size.value_or(kUsualBatch),
          .accumulation = request.accumulation,
          .parameters = trained_parameters(model_size),
          .wire = request.wire,
          .shard_optimiser = request.shard_optimiser};
}

// On the CPU nothing is known of a fixed part; on a GPU the reference's share of it is taken.
RankStep step_of(const RankStep& reference, const MeasuredStep& measured, bool model_on_cores) {
  const auto clips = static_cast<double>(measured.batch);
  RankStep step = stretched(reference, measured.batch, measured.ms);
  if (model_on_cores) {
    step = {.clip_ms = (measured.ms - measured.update_ms) / clips,
            .update_ms = measured.update_ms,
            .core_clip_ms = measured.ms / clips,
            .measured = true};
  }
  if (measured.core_ms) step.core_clip_ms = *measured.core_ms / clips;
  if (measured.spread) step.spread = *measured.spread;
  return step;
}

// Ranks fill a host before the next, so that every count below a host's and every whole number of
// hosts can be.
std::vector<int> counts_up_to(const Cluster& cluster) {
  std::vector<int> counts;
  for (int ranks = 1; ranks < cluster.ranks_per_host; ranks *= 2) counts.push_back(ranks);
  for (int hosts = 1; hosts < cluster.hosts; hosts *= 2) {
    counts.push_back(hosts * cluster.ranks_per_host);
  }
  counts.push_back(cluster.ranks());
  return counts;
}

}  // namespace

std::optional<ClusterFacts> asked_cluster(const ScalingRequest& request, const Machine& here) {
  ClusterFacts facts{.cluster = cluster_of(here)};
  // Hosts that are described are others than this one.
  if (request.gpus_per_host) facts.cluster.cores = kCoresForGpu * *request.gpus_per_host;
  if (request.file) facts = read_cluster_file(*request.file, facts.cluster);
  Cluster& cluster = facts.cluster;
  if (request.hosts) cluster.hosts = *request.hosts;
  if (request.gpus_per_host) cluster.ranks_per_host = *request.gpus_per_host;
  if (request.link) {
    cluster.inside = *request.link == HostLink::NvLink ? nvlink(kUsualNvlinks) : pci_express();
  }
  if (request.network_gbit) cluster.between = network(*request.network_gbit);
  if (request.step_ms) {
    facts.step =
        MeasuredStep{.batch = request.batch_size.value_or(kUsualBatch), .ms = *request.step_ms};
  }
  if (cluster.ranks() == 1) return {};
  return facts;
}

ScalingTable cluster_scaling(const std::string& model_size, const ClusterFacts& facts,
                             const ScalingRequest& request) {
  const Cluster& cluster = facts.cluster;
  ScalingTable table{.model_size = model_size, .training = training_of(model_size, request)};
  RankTraining& training = table.training;
  if (cluster.model_on_cores) training.bucket_bytes = kBucketsOnCores;
  if (facts.parameters) training.parameters = *facts.parameters;
  if (facts.step) {
    training.step = step_of(training.step, *facts.step, cluster.model_on_cores);
    if (!request.batch_size) training.batch = facts.step->batch;
  } else if (cluster.model_on_cores) {
    throw ConfigError(
        "The cluster's file is of the CPU and has no step: nothing is known of its speed. Measure "
        "one rank with myxtts profile --device cpu, and write \"step\": {\"batch\": B, \"ms\": MS} "
        "into the file.");
  }
  table.title = fmt::format("{} host{} of {} {}", cluster.hosts, cluster.hosts == 1 ? "" : "s",
                            cluster.ranks_per_host, cluster.model_on_cores ? "ranks" : "GPUs");
  for (const int ranks : counts_up_to(cluster)) {
    table.rows.push_back(row_of(with_ranks(cluster, ranks), training));
  }
  return table;
}

ScalingTable usual_scaling(const std::string& model_size, const ScalingRequest& request) {
  ScalingTable table{.model_size = model_size,
                     .title = "2 to 64 H200",
                     .training = training_of(model_size, request)};
  const RankLink fast = nvlink(kUsualNvlinks);
  const RankLink wire = network(100);
  struct Usual {
    int most_in_host;
    RankLink inside;
  };
  for (const Usual& usual :
       {Usual{64, fast}, Usual{64, pci_express()}, Usual{1, {}}, Usual{8, fast}}) {
    for (int ranks = 2; ranks <= 64; ranks *= 2) {
      if (usual.most_in_host == 8 && ranks <= 8) continue;  // as the first
      const Cluster hosts{.ranks_per_host = usual.most_in_host,
                          .inside = usual.inside,
                          .between = wire,
                          .cores = kCoresForGpu * std::min(ranks, usual.most_in_host)};
      table.rows.push_back(row_of(with_ranks(hosts, ranks), table.training));
    }
  }
  return table;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLine = "  {:>5} {:>5}  {:<27} {:>8} {:>9} {:>10}  {:<8} {:>10}  {}\n";

const char* name_of(ScalingBound bound) {
  switch (bound) {
    case ScalingBound::Compute:
      return "compute";
    case ScalingBound::Network:
      return "network";
    case ScalingBound::Data:
      return "data";
  }
  return "?";
}

// One rank's own step may have been measured; what several do never was.
const char* origin_of(const ScalingRow& row, const RankTraining& training) {
  return row.step.ranks == 1 && training.step.measured ? "measured" : "predicted";
}

std::string line_of(const ScalingRow& row, const RankTraining& training) {
  const StepPrediction& step = row.step;
  return fmt::format(
      fmt::runtime(kLine), step.ranks, row.cluster.hosts, row.links,
      fmt::format("{:.1f} ms", step.step_ms), fmt::format("{:.0f}", step.clips_per_second),
      fmt::format("{:.1f} %", 100 * step.efficiency), name_of(step.bound),
      row.batch_for_90 ? std::to_string(*row.batch_for_90) : "none", origin_of(row, training));
}

// Each link of the rows once, with what it was taken for.
std::string links_text(const ScalingTable& table) {
  std::set<std::string> told;
  std::string text;
  const auto tell = [&](const RankLink& link) {
    if (!told.insert(link.name).second) return;
    text += fmt::format("{}{} {:.4g} GB/s and {:g} us a hop ({})", text.empty() ? "" : "; ",
                        link.name, link.gigabytes_per_second, link.latency_us,
                        link.measured ? "measured" : "assumed");
  };
  for (const ScalingRow& row : table.rows) {
    if (row.cluster.ranks_per_host > 1) tell(row.cluster.inside);
    if (row.cluster.hosts > 1) tell(row.cluster.between);
  }
  return text;
}

std::string step_text(const RankTraining& training) {
  const RankStep& step = training.step;
  const double whole = step.pass_ms(training.batch) + step.update_ms;
  return fmt::format("{:.1f} ms {}", whole,
                     step.measured ? "by measurement" : "as on an H200, bf16, clips of 10 s");
}

Json row_json(const ScalingRow& row, const RankTraining& training) {
  const StepPrediction& step = row.step;
  return {{"ranks", step.ranks},
          {"hosts", row.cluster.hosts},
          {"links", row.links},
          {"step_ms", step.step_ms},
          {"clips_per_second", step.clips_per_second},
          {"efficiency", step.efficiency},
          {"bound", name_of(step.bound)},
          {"batch_for_90", row.batch_for_90 ? Json(*row.batch_for_90) : Json(nullptr)},
          {"origin", origin_of(row, training)},
          {"compute_ms", step.compute_ms},
          {"straggler_ms", step.straggler_ms},
          {"sums_ms", step.sums_ms},
          {"exposed_ms", step.exposed_ms},
          {"gather_ms", step.gather_ms},
          {"agreement_ms", step.agreement_ms},
          {"cores_ms", step.cores_ms}};
}

}  // namespace

std::string scaling_text(const ScalingTable& table) {
  const RankTraining& training = table.training;
  const Cluster& full = table.rows.back().cluster;
  std::string text = fmt::format(
      "{} on {}: {} parameters, batch {}{} on each rank, gradients in {}{}\n"
      "  one rank's step {}; {:.3g} cores a rank; links: {}\n\n",
      table.model_size, table.title, human_count(training.parameters), training.batch,
      training.accumulation > 1 ? fmt::format(" x {}", training.accumulation) : "",
      training.wire == Wire::Bf16 ? "bf16" : "fp32",
      training.shard_optimiser ? ", sharded optimiser" : "", step_text(training),
      full.cores / full.ranks_per_host, links_text(table));
  text += fmt::format(fmt::runtime(kLine), "ranks", "hosts", "links", "step", "clips/s",
                      "efficiency", "bound by", "90 % from", "");
  for (const ScalingRow& row : table.rows) text += line_of(row, training);
  return text;
}

std::string scaling_json(const ScalingTable& table) {
  Json rows = Json::array();
  for (const ScalingRow& row : table.rows) rows.push_back(row_json(row, table.training));
  return Json{{"model_size", table.model_size},
              {"title", table.title},
              {"parameters", table.training.parameters},
              {"batch_size", table.training.batch},
              {"accumulation", table.training.accumulation},
              {"wire", table.training.wire == Wire::Bf16 ? "bf16" : "fp32"},
              {"shard_optimiser", table.training.shard_optimiser},
              {"rows", std::move(rows)}}
      .dump(2);
}

}  // namespace myxtts
