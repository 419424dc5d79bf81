// SPDX-License-Identifier: Apache-2.0
#include "synth/sampling_json.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/lenient_json.h"
#include "synth/sampling.h"

namespace myxtts {
namespace {

double number(const nlohmann::ordered_json& json, const char* key, double absent,
              const std::string& subject) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return absent;
  if (!found->is_number()) {
    throw DataError(fmt::format("{} has {} for {}, which must be a number.", subject,
                                found->dump().substr(0, 40), key));
  }
  return found->get<double>();
}

}  // namespace

SamplingSettings parse_sampling_settings(std::string_view text, const std::string& subject) {
  const auto json = parse_lenient_json(text, subject);
  SamplingSettings settings;
  settings.temperature = number(json, "temperature", 0.85, subject);
  settings.length_penalty = number(json, "length_penalty", 1.0, subject);
  settings.repetition_penalty = number(json, "repetition_penalty", 2.0, subject);
  settings.top_k = static_cast<std::int64_t>(number(json, "top_k", 50.0, subject));
  settings.top_p = number(json, "top_p", 0.85, subject);
  try {
    validate(settings);
  } catch (const ConfigError& error) {
    throw DataError(fmt::format("{} cannot be used for speaking: {}", subject, error.what()));
  }
  return settings;
}

}  // namespace myxtts
