// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/human.h"
#include "diagnose/scaling/scaling_table.h"

namespace myxtts {
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
