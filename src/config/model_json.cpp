// SPDX-License-Identifier: Apache-2.0
#include "config/model_json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/json.h"

namespace myxtts {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSection = "myxtts";
constexpr std::int64_t kMostInANetwork = 100'000;
constexpr std::int64_t kMostBlocks = 1000;  // of lists that count residual blocks
constexpr std::size_t kLongestList = 8;

[[noreturn]] void fail(const std::string& subject, const std::string& what) {
  throw DataError(fmt::format("{} {}.", subject, what));
}

// The member `key`; null where it is missing or `object` is not an object.
const Json& member(const Json& object, const char* key) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

Json parse_object(std::string_view text, const std::string& subject) {
  Json json = parse_lenient_json(text, subject);
  if (!json.is_object()) fail(subject, "is not a JSON object");
  return json;
}

std::int64_t integer(const Json& value, const std::string& key, std::int64_t most,
                     const std::string& subject) {
  if (!value.is_number_integer() || value < 0 || value > most) {
    fail(subject, fmt::format("has {} for {}, which must be a whole number from 0 to {}",
                              value.dump().substr(0, 40), key, most));
  }
  return value.get<std::int64_t>();
}

void require_flag(const Json& arguments, const char* key, bool absent, const std::string& subject) {
  const Json& value = member(arguments, key);
  const bool on = value.is_boolean() ? value.get<bool>() : absent;
  if (!on) {
    fail(subject,
         fmt::format("does not set model_args.{} to true, so it is not of an XTTS v2 model", key));
  }
}

void read_text_ids(const Json& json, const Json& arguments, GptConfig& gpt,
                   const std::string& subject) {
  constexpr std::int64_t kMostIds = 10'000'000;
  const Json& ours = member(member(json, kSection), "text");
  const auto take = [&](const char* our_key, const char* public_key, std::int64_t& value) {
    const Json& found = ours.is_object() ? member(ours, our_key) : member(arguments, public_key);
    if (!found.is_null()) value = integer(found, public_key, kMostIds, subject);
  };
  take("ids", "gpt_number_text_tokens", gpt.text_ids);
  take("start", "gpt_start_text_token", gpt.start_text);
  take("stop", "gpt_stop_text_token", gpt.stop_text);
}

void read_list(const Json& value, const NetworkField& field, std::vector<std::int64_t>& list,
               const std::string& subject) {
  if (!value.is_array() || value.size() != list.size() || value.size() > kLongestList) {
    fail(subject, fmt::format("has no list of {} numbers for myxtts.{}.{}", list.size(),
                              field.network, field.key));
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i] = integer(value[i], field.key, kMostBlocks, subject);
  }
}

void read_networks(const Json& section, ModelConfig& config, const std::string& subject) {
  for (const NetworkField& field : network_fields()) {
    const Json& value = member(member(section, field.network), field.key);
    if (value.is_null()) continue;
    if (field.list != nullptr) {
      read_list(value, field, *field.list(config), subject);
    } else {
      *field.number(config) = integer(value, field.key, kMostInANetwork, subject);
    }
  }
}

double seconds(const Json& json, const char* key, double absent, const std::string& subject) {
  const Json& value = member(json, key);
  if (value.is_null()) return absent;
  if (!value.is_number()) fail(subject, fmt::format("has no number of seconds for {}", key));
  return value.get<double>();
}

// Where we keep what the public format has no place for; made where it is not there.
Json& own_section(Json& json, const std::string& subject) {
  Json& section = json[kSection];
  if (!section.is_null() && !section.is_object()) {
    fail(subject, fmt::format("has no object for {}", kSection));
  }
  return section;
}

std::string with_member(std::string_view text, const char* key, Json value,
                        const std::string& subject) {
  Json json = parse_object(text, subject);
  own_section(json, subject)[key] = std::move(value);
  return json.dump(4) + "\n";
}

}  // namespace

ModelConfig parse_model_config(std::string_view text, const std::string& subject) {
  const Json json = parse_object(text, subject);
  const Json& arguments = member(json, "model_args");
  if (!arguments.is_object())
    fail(subject, "has no model_args: it is not the config.json of an XTTS model");
  require_flag(arguments, "gpt_use_perceiver_resampler", false, subject);
  require_flag(arguments, "cond_d_vector_in_each_upsampling_layer", true, subject);
  ModelConfig config;
  for (const ArgumentField& field : argument_fields()) {
    const Json& value = member(arguments, field.key);
    field.in(config) =
        value.is_null() ? field.absent : integer(value, field.key, field.most, subject);
  }
  config.dvae.codes = config.gpt.audio_ids - 2;
  config.decoder.code_stride = config.gpt.code_stride;
  config.speaker_encoder.output_dim = config.decoder.speaker_dim;
  read_text_ids(json, arguments, config.gpt, subject);
  read_networks(member(json, kSection), config, subject);
  try {
    validate(config);
  } catch (const ConfigError& error) {
    throw DataError(fmt::format("{} cannot be used: {}", subject, error.what()));
  }
  return config;
}

ReferenceConfig parse_reference_config(std::string_view text, const std::string& subject) {
  const Json json = parse_object(text, subject);
  ReferenceConfig config;
  config.max_ref_len = seconds(json, "max_ref_len", config.max_ref_len, subject);
  config.gpt_cond_len = seconds(json, "gpt_cond_len", config.gpt_cond_len, subject);
  config.gpt_cond_chunk_len =
      seconds(json, "gpt_cond_chunk_len", config.gpt_cond_chunk_len, subject);
  const Json& norm = member(json, "sound_norm_refs");
  if (norm.is_boolean()) config.sound_norm_refs = norm.get<bool>();
  return config;
}

Licence parse_licence(std::string_view text, const std::string& subject) {
  const Json json = parse_object(text, subject);
  const Json& section = member(member(json, kSection), "licence");
  const auto text_of = [&](const char* key) {
    const Json& value = member(section, key);
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  const Json& accepted = member(section, "accepted");
  return {text_of("name"), text_of("file"), accepted.is_boolean() && accepted.get<bool>()};
}

std::string print_model_config(const ModelConfig& config) {
  ModelConfig copy = config;
  Json json = {{"model", "xtts"}, {"model_args", Json::object()}};
  Json& arguments = json["model_args"];
  for (const ArgumentField& field : argument_fields()) arguments[field.key] = field.in(copy);
  arguments["gpt_number_text_tokens"] = config.gpt.text_ids;
  arguments["gpt_start_text_token"] = config.gpt.start_text;
  arguments["gpt_stop_text_token"] = config.gpt.stop_text;
  arguments["gpt_use_perceiver_resampler"] = true;
  arguments["gpt_use_masking_gt_prompt_approach"] = true;
  arguments["cond_d_vector_in_each_upsampling_layer"] = true;
  json["audio"] = {{"sample_rate", config.decoder.input_sample_rate},
                   {"output_sample_rate", config.decoder.output_sample_rate}};
  const ReferenceConfig reference;
  json["max_ref_len"] = reference.max_ref_len;
  json["gpt_cond_len"] = reference.gpt_cond_len;
  json["gpt_cond_chunk_len"] = reference.gpt_cond_chunk_len;
  json["sound_norm_refs"] = reference.sound_norm_refs;
  for (const NetworkField& field : network_fields()) {
    Json& value = json[kSection][field.network][field.key];
    if (field.list != nullptr) {
      value = *field.list(copy);
    } else {
      value = *field.number(copy);
    }
  }
  return json.dump(4) + "\n";
}

std::string with_text_ids(std::string_view json, const TextIds& ids, const std::string& subject) {
  Json file = parse_object(json, subject);
  own_section(file, subject)["text"] = {
      {"ids", ids.count}, {"start", ids.start}, {"stop", ids.stop}};
  const auto replace = [&](const char* key, std::int64_t value) {
    if (member(member(file, "model_args"), key).is_number()) file["model_args"][key] = value;
  };
  replace("gpt_number_text_tokens", ids.count);
  replace("gpt_start_text_token", ids.start);
  replace("gpt_stop_text_token", ids.stop);
  return file.dump(4) + "\n";
}

std::string with_licence(std::string_view json, const Licence& licence,
                         const std::string& subject) {
  Json value = {{"name", licence.name}, {"accepted", licence.accepted}};
  if (!licence.file.empty()) value["file"] = licence.file;
  return with_member(json, "licence", std::move(value), subject);
}

std::string public_config(std::string_view text, const std::string& subject) {
  Json json = parse_object(text, subject);
  json.erase(kSection);
  return print_lenient_json(json);
}

std::string config_json_name(std::string_view field) {
  if (field == "gpt.text_ids") return "the largest id of vocab.json + 1";
  for (const ArgumentField& argument : argument_fields()) {
    if (field == argument.field) return fmt::format("model_args.{}", argument.key);
  }
  return std::string(field);
}

}  // namespace myxtts
