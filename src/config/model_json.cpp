// SPDX-License-Identifier: Apache-2.0
#include "config/model_json.h"

#include <algorithm>
#include <array>

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

// A number of "model_args".
struct ArgumentField {
  const char* key;
  const char* field;                  // ours, for messages
  std::int64_t& (*in)(ModelConfig&);  // where it stands
  std::int64_t absent;                // what coqui-tts takes where the key is missing
  std::int64_t most;                  // a larger value is a damaged file
};

constexpr std::int64_t kMostLayers = 1000;
constexpr std::int64_t kMost = 1'000'000;

#define MYXTTS_IN(path) #path, [](ModelConfig & config) -> std::int64_t& { return config.path; }
constexpr std::array kArguments = {
    ArgumentField{"gpt_layers", MYXTTS_IN(gpt.layers), 30, kMostLayers},
    ArgumentField{"gpt_n_model_channels", MYXTTS_IN(gpt.width), 1024, kMost},
    ArgumentField{"gpt_n_heads", MYXTTS_IN(gpt.heads), 16, kMost},
    ArgumentField{"gpt_max_audio_tokens", MYXTTS_IN(gpt.max_audio_tokens), 605, kMost},
    ArgumentField{"gpt_max_text_tokens", MYXTTS_IN(gpt.max_text_tokens), 402, kMost},
    ArgumentField{"gpt_max_prompt_tokens", MYXTTS_IN(gpt.max_prompt_tokens), 70, kMost},
    ArgumentField{"gpt_num_audio_tokens", MYXTTS_IN(gpt.audio_ids), 8194, kMost},
    ArgumentField{"gpt_start_audio_token", MYXTTS_IN(gpt.start_audio), 8192, kMost},
    ArgumentField{"gpt_stop_audio_token", MYXTTS_IN(gpt.stop_audio), 8193, kMost},
    ArgumentField{"gpt_code_stride_len", MYXTTS_IN(gpt.code_stride), 1024, kMost},
    ArgumentField{"input_sample_rate", MYXTTS_IN(decoder.input_sample_rate), 22050, kMost},
    ArgumentField{"output_sample_rate", MYXTTS_IN(decoder.output_sample_rate), 24000, kMost},
    ArgumentField{"output_hop_length", MYXTTS_IN(decoder.output_hop), 256, kMost},
    ArgumentField{"decoder_input_dim", MYXTTS_IN(decoder.input_dim), 1024, kMost},
    ArgumentField{"d_vector_dim", MYXTTS_IN(decoder.speaker_dim), 512, kMost},
};
#undef MYXTTS_IN

constexpr NetworkField number_field(const char* network, const char* key,
                                    std::int64_t* (*in)(ModelConfig&)) {
  return {network, key, in, nullptr};
}
constexpr NetworkField list_field(const char* network, const char* key,
                                  std::vector<std::int64_t>* (*in)(ModelConfig&)) {
  return {network, key, nullptr, in};
}

#define MYXTTS_PART(network, key) \
#network, #key, [](ModelConfig & config) { return &config.network.key; }
constexpr std::array kNetworks = {
    number_field(MYXTTS_PART(dvae, hidden)),
    number_field(MYXTTS_PART(dvae, channels)),
    number_field(MYXTTS_PART(dvae, codebook_dim)),
    number_field(MYXTTS_PART(dvae, blocks)),
    number_field(MYXTTS_PART(decoder, initial_channels)),
    list_field(MYXTTS_PART(decoder, upsample_rates)),
    list_field(MYXTTS_PART(decoder, upsample_kernels)),
    list_field(MYXTTS_PART(decoder, resblock_kernels)),
    list_field(MYXTTS_PART(decoder, resblock_dilations)),
    list_field(MYXTTS_PART(speaker_encoder, layers)),
    list_field(MYXTTS_PART(speaker_encoder, filters)),
    number_field(MYXTTS_PART(speaker_encoder, attention_dim)),
};
#undef MYXTTS_PART

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

std::span<const NetworkField> network_fields() {
  return kNetworks;
}

ModelConfig parse_model_config(std::string_view text, const std::string& subject) {
  const Json json = parse_object(text, subject);
  const Json& arguments = member(json, "model_args");
  if (!arguments.is_object())
    fail(subject, "has no model_args: it is not the config.json of an XTTS model");
  require_flag(arguments, "gpt_use_perceiver_resampler", false, subject);
  require_flag(arguments, "cond_d_vector_in_each_upsampling_layer", true, subject);
  ModelConfig config;
  for (const ArgumentField& field : kArguments) {
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
  for (const ArgumentField& field : kArguments) arguments[field.key] = field.in(copy);
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
  for (const ArgumentField& argument : kArguments) {
    if (field == argument.field) return fmt::format("model_args.{}", argument.key);
  }
  return std::string(field);
}

}  // namespace myxtts
