// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/human.h"
#include "device/plan/gpu_words.h"
#include "diagnose/memory/recommend.h"

namespace myxtts {
namespace {

using Json = nlohmann::ordered_json;

std::string savers_of(const MemorySavers& savers) {
  std::vector<std::string> words;
  if (savers.moments != Moments::Fp32) words.push_back(name_of(savers.moments) + " moments");
  if (savers.recompute) words.emplace_back("recompute");
  if (savers.release_gradients) words.emplace_back("release");
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::string cap_of(const RolePlan& role) {
  return role.memory_cap_bytes ? std::to_string(*role.memory_cap_bytes / kMegabyte) : "none";
}

std::string cards_of(const Recommendation& row) {
  if (row.cards == 0) return "the CPU";
  return row.cards == 1 ? "1 card" : "2 cards";
}

constexpr const char* kLine = "  {:<7} {:<8} {:>5} {:>6}  {:<27} {:>8} {:>9} {:>5}  {:>10}\n";

std::string line_of(const Recommendation& row) {
  if (!row.fits) {
    return fmt::format("  {:<7} {:<8} {}\n", row.memory, cards_of(row), row.fault);
  }
  const DevicePlan& plan = row.plan;
  return fmt::format(fmt::runtime(kLine), row.memory, cards_of(row), plan.batch_size,
                     plan.grad_accum, savers_of(plan.savers), cap_of(plan.data), cap_of(plan.model),
                     plan.ring_slots, megabytes(plan.model.estimated_bytes)) +
         fmt::format("          {}\n", row.command);
}

std::string table_text(const RecommendationTable& table) {
  std::string text = fmt::format("{}: {} parameters, clips of 10 s, by estimate\n\n",
                                 table.model_size, human_count(table.parameters));
  text += fmt::format(fmt::runtime(kLine), "memory", "devices", "batch", "accum", "savers",
                      "data cap", "model cap", "slots", "training");
  for (const Recommendation& row : table.rows) text += line_of(row);
  return text;
}

Json row_json(const Recommendation& row) {
  Json json = {{"memory", row.memory}, {"cards", row.cards}, {"fits", row.fits}};
  if (!row.fits) {
    json["fault"] = row.fault;
    return json;
  }
  const DevicePlan& plan = row.plan;
  const auto cap = [](const RolePlan& role) {
    return role.memory_cap_bytes ? Json(*role.memory_cap_bytes / kMegabyte) : Json(nullptr);
  };
  json.update({{"batch_size", plan.batch_size},
               {"grad_accum", plan.grad_accum},
               {"precision", name_of(plan.precision)},
               {"moments", name_of(plan.savers.moments)},
               {"recompute", plan.savers.recompute},
               {"release_gradients", plan.savers.release_gradients},
               {"data_cap_mb", cap(plan.data)},
               {"model_cap_mb", cap(plan.model)},
               {"ring_slots", plan.ring_slots},
               {"model_bytes", plan.model.estimated_bytes},
               {"data_bytes", plan.data.estimated_bytes},
               {"command", row.command}});
  return json;
}

}  // namespace

std::string recommendation_text(const std::vector<RecommendationTable>& tables) {
  std::string text;
  for (const RecommendationTable& table : tables) {
    if (!text.empty()) text += "\n";
    text += table_text(table);
    for (const ScalingTable& ranks : table.ranks) text += fmt::format("\n{}", scaling_text(ranks));
  }
  return text;
}

std::string recommendation_json(const std::vector<RecommendationTable>& tables) {
  Json report = Json::array();
  for (const RecommendationTable& table : tables) {
    Json rows = Json::array();
    for (const Recommendation& row : table.rows) rows.push_back(row_json(row));
    Json ranks = Json::array();
    for (const ScalingTable& several : table.ranks) {
      ranks.push_back(Json::parse(scaling_json(several)));
    }
    report.push_back({{"model_size", table.model_size},
                      {"parameters", table.parameters},
                      {"rows", std::move(rows)},
                      {"ranks", std::move(ranks)}});
  }
  return Json{{"model_sizes", report}}.dump(2) + "\n";
}

}  // namespace myxtts
