// SPDX-License-Identifier: Apache-2.0
#include "diagnose/auto/reading_json.h"

#include <sstream>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace myxtts {

PlacementReading reading_from_json(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    const PlacementReading reading{
        .clips_per_second = json.at("clips_per_second").get<double>(),
        .step_seconds = json.at("step").at("mean_ms").get<double>() / 1000,
        .ready_share = json.at("readiness").get<double>(),
        .data_bytes = json.at("data").at("peak_bytes").get<std::int64_t>(),
        .model_bytes = json.at("model").at("peak_bytes").get<std::int64_t>()};
    if (reading.clips_per_second > 0) return reading;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("The measurement cannot be read: {}.", error.what()));
  }
  throw DataError("no step was measured");
}

PlacementReading reading_from_metrics(const std::string& lines, std::int64_t step) {
  std::istringstream stream(lines);
  try {
    for (std::string line; std::getline(stream, line);) {
      const auto json = nlohmann::json::parse(line);
      if (json.at("event") != "train" || json.at("step") != step) continue;
      const PlacementReading reading{
          .clips_per_second = json.at("clips_per_second").get<double>(),
          .ready_share = json.at("readiness").get<double>(),
          .data_bytes = json.at("memory.data_peak").get<std::int64_t>(),
          .model_bytes = json.at("memory.model_peak").get<std::int64_t>()};
      if (reading.clips_per_second > 0) return reading;
    }
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("The measurement cannot be read: {}.", error.what()));
  }
  throw DataError("no step was measured");
}

}  // namespace myxtts
