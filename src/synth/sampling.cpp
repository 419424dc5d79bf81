// SPDX-License-Identifier: Apache-2.0
#include "synth/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/random.h"
#include "config/json.h"

namespace myxtts {
namespace {

constexpr std::size_t kFillerId = 1;  // see CodeHistory
constexpr std::int64_t kMostBeams = 32;

// "--top-k" of "top_k".
std::string flag_of(std::string field) {
  std::ranges::replace(field, '_', '-');
  return "--" + field;
}

}  // namespace

double sampling_draw(std::uint64_t seed, std::uint32_t text_number, std::uint32_t step) {
  return RandomStream(seed, kSamplingStream).uniform(std::uint64_t{text_number} << 32U | step);
}

void to_log_probabilities(std::span<float> logits) {
  std::vector<double> values;
  const float most = *std::ranges::max_element(logits);
  const double shift = static_cast<double>(most) + std::log(exponentials(logits, values));
  for (float& logit : logits) {
    logit = static_cast<float>(static_cast<double>(logit) - shift);
  }
}

CodeHistory::CodeHistory(const GptConfig& config)
    : seen_(static_cast<std::size_t>(config.audio_ids), 0) {
  seen_.at(kFillerId) = 1;
  add(config.start_audio);
}

void process_logits(std::span<float> logits, const CodeHistory& history,
                    const SamplingSettings& settings) {
  const std::int64_t least = settings.beams > 1 ? 2 : 1;
  if (settings.beams > 1) to_log_probabilities(logits);
  if (settings.repetition_penalty != 1.0) {
    penalise_repetition(logits, history.seen(), static_cast<float>(settings.repetition_penalty));
  }
  if (settings.greedy) return;
  if (settings.temperature != 1.0) {
    apply_temperature(logits, static_cast<float>(settings.temperature));
  }
  if (settings.top_k != 0) keep_top_k(logits, settings.top_k, least);
  if (settings.top_p < 1.0) keep_top_p(logits, settings.top_p, least);
}

std::int64_t choose_code(std::span<float> logits, const CodeHistory& history,
                         const SamplingSettings& settings, double draw) {
  process_logits(logits, history, settings);
  return settings.greedy ? likeliest(logits) : draw_from(logits, draw);
}

void validate(const SamplingSettings& settings, SamplingNames names) {
  const bool has_flags = names == SamplingNames::Flags;
  const auto require = [has_flags](bool holds, const char* field, double value,
                                   const char* allowed) {
    if (holds) return;
    throw ConfigError(fmt::format("{} is {}; it must be {}.", has_flags ? flag_of(field) : field,
                                  value, allowed));
  };
  const auto is_positive = [](double value) { return value > 0.0 && std::isfinite(value); };
  require(is_positive(settings.temperature), "temperature", settings.temperature,
          has_flags ? "above 0; --greedy takes the likeliest code always" : "above 0");
  require(settings.top_k >= 0, "top_k", static_cast<double>(settings.top_k),
          "0 (no limit) or more");
  require(settings.top_p > 0.0 && settings.top_p <= 1.0, "top_p", settings.top_p,
          "above 0 and at most 1 (no limit)");
  require(is_positive(settings.repetition_penalty), "repetition_penalty",
          settings.repetition_penalty, "above 0; 1 is none");
  require(std::isfinite(settings.length_penalty), "length_penalty", settings.length_penalty,
          "a number");
  require(settings.beams >= 1 && settings.beams <= kMostBeams, "beams",
          static_cast<double>(settings.beams), "from 1 to 32");
}

SamplingSettings sampling_of(const SamplingChoice& choice, const SamplingSettings& of_model,
                             SamplingNames names) {
  const SamplingSettings settings{
      .greedy = choice.greedy,
      .temperature = choice.temperature.value_or(of_model.temperature),
      .top_k = choice.top_k.value_or(of_model.top_k),
      .top_p = choice.top_p.value_or(of_model.top_p),
      .repetition_penalty = choice.repetition_penalty.value_or(of_model.repetition_penalty),
      .length_penalty = choice.length_penalty.value_or(of_model.length_penalty),
      .beams = choice.beams,
      .seed = choice.seed.value_or(of_model.seed)};
  validate(settings, names);
  return settings;
}

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
    validate(settings, SamplingNames::Fields);
  } catch (const ConfigError& error) {
    throw DataError(fmt::format("{} cannot be used for speaking: {}", subject, error.what()));
  }
  return settings;
}

}  // namespace myxtts
