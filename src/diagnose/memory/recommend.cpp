// SPDX-License-Identifier: Apache-2.0
#include "diagnose/memory/recommend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "config/model.h"
#include "config/run_config.h"
#include "device/plan/gpu_choice.h"
#include "diagnose/memory/memory_plan.h"
#include "diagnose/report/markup.h"
#include "diagnose/report/report.h"
#include "model/gpt_specs.h"
#include "model/tensor_spec.h"

namespace myxtts {
namespace {

GpuInfo card_of(const CardSize& size, int index) {
  return {.index = index,
          .name = size.name,
          .uuid = fmt::format("GPU-{}", index),
          .pci_bus_id = fmt::format("00000000:0{}:00.0", index + 1),
          .memory_total_bytes = size.megabytes * kMegabyte,
          .memory_free_bytes = size.megabytes * kMegabyte,
          .capability_major = 8,
          .capability_minor = 6};
}

// Two cards get caps, as the original program's users know them.
RunConfig config_for(const std::string& model_size, std::optional<std::int64_t> batch_size,
                     int cards) {
  RunConfig config;
  config.train.model_size = model_size;
  config.train.batch_size = batch_size;
  if (cards == 0) config.devices.device = DeviceKind::Cpu;
  if (cards != 2) return config;
  config.data.data_gpu = 0;
  config.data.model_gpu = 1;
  config.devices.enable_memory_isolation = true;
  return config;
}

std::string command_for(const std::string& model_size, const DevicePlan& plan) {
  std::string flags = fmt::format("--model-size {} --batch-size {}", model_size, plan.batch_size);
  if (plan.grad_accum > 1) flags += fmt::format(" --grad-accum {}", plan.grad_accum);
  const MemorySavers& savers = plan.savers;
  if (savers.moments != Moments::Fp32)
    flags += fmt::format(" --moments {}", name_of(savers.moments));
  if (savers.recompute) flags += " --recompute on";
  if (savers.release_gradients) flags += " --release-gradients on";
  if (plan.mode == Mode::Cpu) flags += " --device cpu";
  if (plan.mode == Mode::Dual) {
    flags += fmt::format(
        " --data-gpu {} --model-gpu {} --enable-memory-isolation --data-gpu-memory {} "
        "--model-gpu-memory {} --prefetch-buffer-size {}",
        plan.data.gpu->listed, plan.model.gpu->listed, *plan.data.memory_cap_bytes / kMegabyte,
        *plan.model.memory_cap_bytes / kMegabyte, plan.ring_slots);
  }
  return "myxtts train " + flags + " --train-data DIR";
}

Recommendation row_for(const std::string& memory, const RunConfig& config, const Machine& machine,
                       int cards) {
  Recommendation row{.memory = memory, .cards = cards};
  const std::string& size = config.train.model_size;
  try {
    row.plan = plan_with_savers(config, machine, model_preset(size));
    row.fits = fits_by_estimate(row.plan);
    if (row.fits) row.command = command_for(size, row.plan);
    if (!row.fits) row.fault = "does not fit by estimate; take a smaller size or batch";
  } catch (const ConfigError& error) {
    row.fault = error.what();
  } catch (const DeviceError& error) {
    row.fault = error.what();
  }
  return row;
}

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

std::string recommendation_table(const RecommendationTable& table) {
  Rows rows{{"memory", "devices", "batch", "accum", "savers", "data cap", "model cap", "slots",
             "training"}};
  for (const Recommendation& row : table.rows) {
    if (!row.fits) {
      rows.push_back({row.memory, cards_of(row), row.fault});
      continue;
    }
    const DevicePlan& plan = row.plan;
    rows.push_back({row.memory, cards_of(row), std::to_string(plan.batch_size),
                    std::to_string(plan.grad_accum), savers_of(plan.savers), cap_of(plan.data),
                    cap_of(plan.model), std::to_string(plan.ring_slots),
                    megabytes(plan.model.estimated_bytes)});
    rows.push_back({"        " + row.command});
  }
  return fmt::format("{}: {} parameters, clips of 10 s, by estimate\n\n", table.model_size,
                     human_count(table.parameters)) +
         table_text("  <7 <8 >5 >6  <27 >8 >9 >5  >10", rows);
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

// The least that cards of that size show.
const std::vector<CardSize>& usual_cards() {
  static const std::vector<CardSize> cards = {
      {"8 GB", 8'188},   {"12 GB", 12'282}, {"16 GB", 15'360}, {"24 GB", 22'731},
      {"32 GB", 32'510}, {"48 GB", 46'068}, {"80 GB", 81'079}, {"141 GB", 143'771}};
  return cards;
}

Machine machine_with(const CardSize& size, int cards) {
  Machine machine;
  machine.cpu = {.logical_cores = 16, .physical_cores = 8};
  machine.memory = {.total_bytes = std::int64_t{64} << 30,
                    .available_bytes = std::int64_t{60} << 30};
  machine.gpus.driver_found = true;
  for (int index = 0; index < cards; ++index) machine.gpus.gpus.push_back(card_of(size, index));
  if (cards == 2) machine.gpus.links.push_back({.first = 0, .second = 1, .p2p_access = true});
  return machine;
}

RecommendationTable recommend(const std::string& model_size, std::optional<std::int64_t> batch_size,
                              const Machine& here) {
  RecommendationTable table{.model_size = model_size,
                            .parameters = parameter_count(gpt_specs(model_preset(model_size).gpt))};
  const int own = static_cast<int>(here.gpus.gpus.size());
  const auto add = [&](const std::string& memory, const Machine& machine, int cards) {
    table.rows.push_back(
        row_for(memory, config_for(model_size, batch_size, cards), machine, cards));
  };
  add("here", here, std::min(own, 1));
  if (own > 1) add("here", here, 2);
  for (const CardSize& card : usual_cards()) {
    for (const int cards : {1, 2}) add(card.name, machine_with(card, cards), cards);
  }
  return table;
}

std::string recommendation_text(const std::vector<RecommendationTable>& tables) {
  std::string text;
  for (const RecommendationTable& table : tables) {
    if (!text.empty()) text += "\n";
    text += recommendation_table(table);
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
  return json_text(Json{{"model_sizes", report}});
}

}  // namespace myxtts
