// SPDX-License-Identifier: Apache-2.0
#include "diagnose/auto/choice_file.h"

#include <array>
#include <sstream>
#include <string_view>

#include "base/atomic_file.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "config/field.h"
#include "diagnose/report/markup.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "auto.json";
constexpr std::size_t kLargestChoice = 1 << 20;
constexpr int kChoiceVersion = 1;

// Settings of the sections data and devices matter, all but these; of the others these alone.
constexpr std::array kDataThatMattersNot{
    std::string_view("data.val_data"), std::string_view("data.max_skipped"),
    std::string_view("data.strict"), std::string_view("data.cache_dir"),
    std::string_view("data.model_start_delay")};
constexpr std::array kTrainThatMatters{
    std::string_view("train.model_size"),       std::string_view("train.init"),
    std::string_view("train.batch_size"),       std::string_view("train.batch_tokens"),
    std::string_view("train.grad_accum"),       std::string_view("train.precision"),
    std::string_view("train.dropout"),          std::string_view("train.freeze"),
    std::string_view("train.grad_clip"),        std::string_view("train.enable_static_shapes"),
    std::string_view("train.recompute"),        std::string_view("train.moments"),
    std::string_view("train.release_gradients")};

template <typename Names>
bool is_in(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool matters(const Field& field) {
  const std::string_view section = section_of(field.key);
  if (section == "devices") return true;
  if (section == "data") return !is_in(kDataThatMattersNot, field.key);
  return is_in(kTrainThatMatters, field.key);
}

std::string text_of(const Field& field, const RunConfig& config) {
  if (!field.is_list()) return field.value_of(config).text;
  std::string text;
  for (const Scalar& value : field.values_of(config)) {
    text += text.empty() ? value.text : " " + value.text;
  }
  return text;
}

Json placement_json(const Placement& placement) {
  Json split = nullptr;
  if (placement.split_gpu) {
    split = {{"gpu", placement.split_gpu->gpu},
             {"multiprocessors", or_null(placement.split_gpu->multiprocessors)}};
  }
  Json ranks = nullptr;
  if (placement.ranks) {
    ranks = {{"ranks", *placement.ranks}, {"batch_size", placement.rank_batch_size}};
  }
  return {{"name", name_of(placement)},
          {"flags", flags_of(placement)},
          {"mode", name_of(placement.mode)},
          {"split_gpu", split},
          {"data_gpu", or_null(placement.data_gpu)},
          {"model_gpu", or_null(placement.model_gpu)},
          {"data_threads", or_null(placement.data_threads)},
          {"model_threads", or_null(placement.model_threads)},
          {"ranks", ranks},
          {"cache_dataset", placement.cached}};
}

Json line_json(const MeasuredPlacement& line) {
  Json json{{"name", name_of(line.placement)}, {"flags", flags_of(line.placement)}};
  if (!line.reading) {
    json["reason"] = line.reason;
    return json;
  }
  json["clips_per_second"] = line.clips_per_second;
  json["step_seconds"] = line.reading->step_seconds;
  json["ready_share"] = line.reading->ready_share;
  json["data_bytes"] = line.reading->data_bytes;
  json["model_bytes"] = line.reading->model_bytes;
  if (line.cold_clips_per_second) {
    json["cold_clips_per_second"] = *line.cold_clips_per_second;
    json["warm_clips_per_second"] = line.reading->clips_per_second;
  }
  return json;
}

Json table_json(const std::vector<MeasuredPlacement>& table) {
  Json lines = Json::array();
  for (const MeasuredPlacement& line : table) lines.push_back(line_json(line));
  return lines;
}

Mode mode_named(const std::string& name) {
  for (const Mode mode : {Mode::Single, Mode::Split, Mode::Dual, Mode::Cpu}) {
    if (name_of(mode) == name) return mode;
  }
  throw DataError(fmt::format("there is no mode {}", name));
}

std::optional<std::int64_t> number_or_nothing(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<std::int64_t>());
}

Placement placement_of(const Json& json) {
  Placement placement{.mode = mode_named(json.at("mode").get<std::string>()),
                      .data_gpu = number_or_nothing(json.at("data_gpu")),
                      .model_gpu = number_or_nothing(json.at("model_gpu")),
                      .data_threads = number_or_nothing(json.at("data_threads")),
                      .model_threads = number_or_nothing(json.at("model_threads")),
                      .cached = json.at("cache_dataset").get<bool>()};
  if (const Json& split = json.at("split_gpu"); !split.is_null()) {
    placement.split_gpu = SplitGpu{split.at("gpu").get<std::int64_t>(),
                                   number_or_nothing(split.at("multiprocessors"))};
  }
  // Files of earlier versions have no ranks.
  if (const Json ranks = json.value("ranks", Json()); !ranks.is_null()) {
    placement.ranks = ranks.at("ranks").get<std::int64_t>();
    placement.rank_batch_size = ranks.at("batch_size").get<std::int64_t>();
  }
  return placement;
}

// Throws DataError where `read` finds no JSON, or no step.
template <typename Read>
PlacementReading read_measurement(const Read& read) {
  PlacementReading reading;
  try {
    reading = read();
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("The measurement cannot be read: {}.", error.what()));
  }
  if (reading.clips_per_second > 0) return reading;
  throw DataError("no step was measured");
}

}  // namespace

PlacementReading reading_from_json(const std::string& text) {
  return read_measurement([&text] {
    const auto json = nlohmann::json::parse(text);
    return PlacementReading{.clips_per_second = json.at("clips_per_second").get<double>(),
                            .step_seconds = json.at("step").at("mean_ms").get<double>() / 1000,
                            .ready_share = json.at("readiness").get<double>(),
                            .data_bytes = json.at("data").at("peak_bytes").get<std::int64_t>(),
                            .model_bytes = json.at("model").at("peak_bytes").get<std::int64_t>()};
  });
}

PlacementReading reading_from_metrics(const std::string& lines, std::int64_t step) {
  return read_measurement([&lines, step] {
    std::istringstream stream(lines);
    for (std::string line; std::getline(stream, line);) {
      const auto json = nlohmann::json::parse(line);
      if (json.at("event") != "train" || json.at("step") != step) continue;
      return PlacementReading{.clips_per_second = json.at("clips_per_second").get<double>(),
                              .ready_share = json.at("readiness").get<double>(),
                              .data_bytes = json.at("memory.data_peak").get<std::int64_t>(),
                              .model_bytes = json.at("memory.model_peak").get<std::int64_t>()};
    }
    return PlacementReading{};
  });
}

AutoConditions auto_conditions(const RunConfig& config, const Machine& machine,
                               const std::string& corpus) {
  AutoConditions conditions;
  auto& of_machine = conditions["machine"];
  of_machine["cpu"] = machine.cpu.model;
  of_machine["cores"] = std::to_string(machine.cpu.usable_cores());
  for (const GpuInfo& gpu : machine.gpus.gpus) {
    of_machine[fmt::format("gpu {}", gpu.index)] = fmt::format("{} {}", gpu.name, gpu.uuid);
  }
  of_machine["CUDA_VISIBLE_DEVICES"] = machine.gpus.visible_devices.value_or("not set");
  conditions["corpus"]["fingerprint"] = corpus;
  for (const Field& field : all_fields()) {
    if (matters(field)) conditions["settings"][field.key] = text_of(field, config);
  }
  return conditions;
}

std::string what_changed(const AutoConditions& before, const AutoConditions& now) {
  for (const auto& [section, values] : now) {
    const auto old = before.find(section);
    if (old == before.end()) return fmt::format("{} was not known then", section);
    for (const auto& [name, value] : values) {
      const auto known = old->second.find(name);
      if (known == old->second.end()) return fmt::format("{}: {} is new", section, name);
      if (known->second != value) {
        return fmt::format("{}: {} was {} and is {}", section, name, known->second, value);
      }
    }
    for (const auto& [name, value] : old->second) {
      if (!values.contains(name)) return fmt::format("{}: {} is gone", section, name);
    }
  }
  return {};
}

std::string to_json(const std::vector<MeasuredPlacement>& table, const Placement* chosen) {
  return json_text({{"table", table_json(table)},
                    {"choice", chosen != nullptr ? placement_json(*chosen) : Json(nullptr)}});
}

void write_choice(const AutoChoice& choice, const fs::path& run_directory) {
  Json json{{"version", kChoiceVersion}};
  for (const auto& [section, values] : choice.conditions) json[section] = values;
  json["table"] = table_json(choice.table);
  json["choice"] = placement_json(choice.placement);
  write_file_atomically(run_directory / kFile, bytes_of(json_text(json)));
}

std::optional<AutoChoice> read_choice(const fs::path& run_directory) {
  const fs::path path = run_directory / kFile;
  std::error_code unreadable;
  if (!fs::exists(path, unreadable)) return std::nullopt;
  try {
    const Json json = Json::parse(read_text_file(path, "choice of --mode auto", kLargestChoice));
    AutoChoice choice{.placement = placement_of(json.at("choice"))};
    for (const char* section : {"machine", "corpus", "settings"}) {
      choice.conditions[section] = json.at(section).get<std::map<std::string, std::string>>();
    }
    return choice;
  } catch (const nlohmann::json::exception& error) {
    log_warning("auto", "{} cannot be read and is made anew: {}", path.string(), error.what());
  } catch (const DataError& error) {
    log_warning("auto", "{} cannot be read and is made anew: {}", path.string(), error.what());
  }
  return std::nullopt;
}

}  // namespace myxtts
