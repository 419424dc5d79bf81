// SPDX-License-Identifier: Apache-2.0
#include "diagnose/scaling/scaling_table.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/message_text.h"
#include "diagnose/report/markup.h"
#include "diagnose/report/report.h"

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

const char* name_of(ScalingBound bound) {
  static constexpr const char* kNames[] = {"compute", "network", "data"};
  return kNames[static_cast<std::size_t>(bound)];
}

// One rank's own step may have been measured; what several do never was.
const char* origin_of(const ScalingRow& row, const RankTraining& training) {
  return row.step.ranks == 1 && training.step.measured ? "measured" : "predicted";
}

std::vector<std::string> cells_of(const ScalingRow& row, const RankTraining& training) {
  const StepPrediction& step = row.step;
  return {std::to_string(step.ranks),
          std::to_string(row.cluster.hosts),
          row.links,
          fmt::format("{:.1f} ms", step.step_ms),
          fmt::format("{:.0f}", step.clips_per_second),
          fmt::format("{:.1f} %", 100 * step.efficiency),
          name_of(step.bound),
          row.batch_for_90 ? std::to_string(*row.batch_for_90) : "none",
          origin_of(row, training)};
}

// Each link of the rows once, with what it was taken for.
std::string links_text(const ScalingTable& table) {
  std::set<std::string> named;
  std::string text;
  const auto add = [&](const RankLink& link) {
    if (!named.insert(link.name).second) return;
    text += fmt::format("{}{} {:.4g} GB/s and {:g} us a hop ({})", text.empty() ? "" : "; ",
                        link.name, link.gigabytes_per_second, link.latency_us,
                        link.measured ? "measured" : "assumed");
  };
  for (const ScalingRow& row : table.rows) {
    if (row.cluster.ranks_per_host > 1) add(row.cluster.inside);
    if (row.cluster.hosts > 1) add(row.cluster.between);
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

std::optional<Cluster> asked_cluster(const ScalingRequest& request, const Machine& here) {
  Cluster cluster = cluster_of(here);
  // Hosts that are described are others than this one.
  if (request.gpus_per_host) cluster.cores = kCoresForGpu * *request.gpus_per_host;
  if (request.file) cluster = read_cluster_file(*request.file, cluster);
  if (request.hosts) cluster.hosts = *request.hosts;
  if (request.gpus_per_host) cluster.ranks_per_host = *request.gpus_per_host;
  if (request.link) {
    cluster.inside = *request.link == HostLink::NvLink ? nvlink(kUsualNvlinks) : pci_express();
  }
  if (request.network_gbit) cluster.between = network(*request.network_gbit);
  if (request.step_ms) {
    cluster.step =
        MeasuredStep{.batch = request.batch_size.value_or(kUsualBatch), .ms = *request.step_ms};
  }
  if (cluster.ranks() == 1) return {};
  return cluster;
}

ScalingTable cluster_scaling(const std::string& model_size, const Cluster& cluster,
                             const ScalingRequest& request) {
  ScalingTable table{.model_size = model_size, .training = training_of(model_size, request)};
  RankTraining& training = table.training;
  if (cluster.model_on_cores) training.bucket_bytes = kBucketsOnCores;
  if (cluster.parameters) training.parameters = *cluster.parameters;
  if (cluster.step) {
    training.step = step_of(training.step, *cluster.step, cluster.model_on_cores);
    if (!request.batch_size) training.batch = cluster.step->batch;
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
  const std::pair<int, RankLink> hosts_by_size[] = {
      {64, fast}, {64, pci_express()}, {1, {}}, {8, fast}};
  for (const auto& [most_in_host, inside] : hosts_by_size) {
    for (int ranks = 2; ranks <= 64; ranks *= 2) {
      if (most_in_host == 8 && ranks <= 8) continue;  // as the first
      const Cluster hosts{.ranks_per_host = most_in_host,
                          .inside = inside,
                          .between = wire,
                          .cores = kCoresForGpu * std::min(ranks, most_in_host)};
      table.rows.push_back(row_of(with_ranks(hosts, ranks), table.training));
    }
  }
  return table;
}

std::string scaling_text(const ScalingTable& table) {
  const RankTraining& training = table.training;
  const Cluster& full = table.rows.back().cluster;
  const std::string text = fmt::format(
      "{} on {}: {} parameters, batch {}{} on each rank, gradients in {}{}\n"
      "  one rank's step {}; {:.3g} cores a rank; links: {}\n\n",
      table.model_size, table.title, human_count(training.parameters), training.batch,
      training.accumulation > 1 ? fmt::format(" x {}", training.accumulation) : "",
      training.wire == Wire::Bf16 ? "bf16" : "fp32",
      training.shard_optimiser ? ", sharded optimiser" : "", step_text(training),
      full.cores / full.ranks_per_host, links_text(table));
  Rows rows{
      {"ranks", "hosts", "links", "step", "clips/s", "efficiency", "bound by", "90 % from", ""}};
  for (const ScalingRow& row : table.rows) rows.push_back(cells_of(row, training));
  return text + table_text("  >5 >5  <27 >8 >9 >10  <8 >10  <", rows);
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
