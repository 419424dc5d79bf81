// SPDX-License-Identifier: Apache-2.0
#include "serve/speech_order.h"

#include <charconv>
#include <type_traits>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "config/json.h"
#include "http/request_error.h"
#include "text/unicode.h"

namespace myxtts {
namespace {

using Json = nlohmann::json;

constexpr double kSlowest = 0.25;  // as OpenAI's
constexpr double kFastest = 4.0;

[[noreturn]] void refuse(const std::string& field, const std::string& message) {
  throw RequestError(400, "invalid_value", message, field);
}

Json object_of(std::string_view body) {
  Json json = parse_shallow_json<Json>(body);
  if (json.is_object()) return json;
  throw RequestError(400, "invalid_json", "The body of the request is not a JSON object.");
}

// The fields of an order, each of its kind or absent. null is absent.
class Fields {
 public:
  explicit Fields(std::string_view body) : json_(object_of(body)) {}

  bool has(const char* name) const { return json_.contains(name) && !json_[name].is_null(); }

  std::string text(const char* name, std::string otherwise = {}) const {
    if (!has(name)) return otherwise;
    if (!json_[name].is_string()) refuse(name, fmt::format("{} must be a text.", name));
    return json_[name].get<std::string>();
  }

  template <typename Number>
  std::optional<Number> number(const char* name) const {
    if (!has(name)) return {};
    const Json& value = json_[name];
    const bool fits = std::is_same_v<Number, double>          ? value.is_number()
                      : std::is_same_v<Number, std::uint64_t> ? value.is_number_unsigned()
                                                              : value.is_number_integer();
    if (!fits) {
      refuse(name, fmt::format("{} must be {}.", name,
                               std::is_same_v<Number, double> ? "a number" : "a whole number"));
    }
    return value.get<Number>();
  }

  // 0.75, or "0.75" as forms in a browser have it.
  double number_or_text(const char* name) const {
    const Json& value = json_[name];
    if (value.is_number()) return value.get<double>();
    if (value.is_string()) {
      const auto text = value.get<std::string>();
      double number = 0;
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (failed == std::errc() && end == text.data() + text.size()) return number;
    }
    refuse(name, fmt::format("{} must be a number.", name));
  }

  const Json& json() const { return json_; }

 private:
  Json json_;
};

// "alloy", or {"id": "alloy"}.
std::string voice_in(const Fields& fields) {
  const Json& json = fields.json();
  const auto voice = json.find("voice");
  if (voice == json.end() || voice->is_null()) {
    refuse("voice", "Say which voice to speak in: GET /v1/audio/voices lists them.");
  }
  if (voice->is_string()) return voice->get<std::string>();
  if (voice->is_object() && voice->contains("id") && (*voice)["id"].is_string()) {
    return (*voice)["id"].get<std::string>();
  }
  refuse("voice", "voice must be a name, or an object with a name as its id.");
}

SamplingChoice sampling_in(const Fields& fields) {
  const SamplingChoice choice{.temperature = fields.number<double>("temperature"),
                              .top_k = fields.number<std::int64_t>("top_k"),
                              .top_p = fields.number<double>("top_p"),
                              .repetition_penalty = fields.number<double>("repetition_penalty"),
                              .seed = fields.number<std::uint64_t>("seed")};
  try {
    // What can be used at all can be used with every model.
    sampling_of(choice, {}, SamplingNames::Fields);
  } catch (const ConfigError& error) {
    throw RequestError(400, "invalid_value", error.what());
  }
  return choice;
}

}  // namespace

void check_text(const std::string& text, std::size_t most_bytes, const char* field) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    refuse(field, fmt::format("There is nothing to say: {} is empty.", field));
  }
  if (text.size() > most_bytes) {
    throw RequestError(413, "text_too_long",
                       fmt::format("{} has {} bytes, and the server takes {} at a time; send it in "
                                   "parts, or start the server with a larger --max-text.",
                                   field, human_count(static_cast<std::int64_t>(text.size())),
                                   human_count(static_cast<std::int64_t>(most_bytes))),
                       field);
  }
  if (repair_utf8(text) != text) refuse(field, fmt::format("{} is not valid UTF-8.", field));
}

SpeechOrder parse_openai_order(std::string_view body, std::size_t most_bytes_of_text) {
  const Fields fields(body);
  SpeechOrder order{.text = fields.text("input"),
                    .voice = voice_in(fields),
                    .model = fields.text("model"),
                    .language = fields.text("language")};
  check_text(order.text, most_bytes_of_text, "input");
  const std::string format = fields.text("response_format", "mp3");
  const auto known = parse_sound_format(format);
  if (!known) {
    refuse("response_format",
           fmt::format("response_format is \"{}\"; it must be {}.", printable(format),
                       fmt::join(sound_format_names(), ", ")));
  }
  order.format = *known;
  const std::string stream_format = fields.text("stream_format", "audio");
  if (stream_format != "audio" && stream_format != "sse") {
    refuse("stream_format", fmt::format("stream_format is \"{}\"; it must be audio or sse.",
                                        printable(stream_format)));
  }
  order.as_events = stream_format == "sse";
  order.speed = fields.number<double>("speed").value_or(1.0);
  if (!(order.speed >= kSlowest && order.speed <= kFastest)) {
    refuse("speed",
           fmt::format("speed is {}; it must be from {} to {}.", order.speed, kSlowest, kFastest));
  }
  order.sampling = sampling_in(fields);
  if (fields.has("instructions")) order.ignored.emplace_back("instructions");
  return order;
}

std::string print_xtts_settings(const XttsSettings& settings) {
  const Json json = {{"temperature", settings.temperature},
                     {"speed", settings.speed},
                     {"length_penalty", settings.length_penalty},
                     {"repetition_penalty", settings.repetition_penalty},
                     {"top_p", settings.top_p},
                     {"top_k", settings.top_k},
                     {"enable_text_splitting", settings.enable_text_splitting},
                     {"stream_chunk_size", settings.stream_chunk_size}};
  return json.dump();
}

XttsSettings parse_xtts_settings(std::string_view body, XttsSettings settings) {
  const Fields fields(body);
  const auto take = [&](const char* name, auto& value, double least, double most) {
    if (!fields.has(name)) return;
    const double number = fields.number_or_text(name);
    if (!(number >= least && number <= most)) {
      refuse(name, fmt::format("{} is {}; it must be from {} to {}.", name, number, least, most));
    }
    value = static_cast<std::remove_reference_t<decltype(value)>>(number);
  };
  take("temperature", settings.temperature, 0.01, 5.0);
  take("speed", settings.speed, kSlowest, kFastest);
  take("length_penalty", settings.length_penalty, -10.0, 10.0);
  take("repetition_penalty", settings.repetition_penalty, 0.1, 100.0);
  take("top_p", settings.top_p, 0.01, 1.0);
  take("top_k", settings.top_k, 0.0, 10'000.0);
  take("stream_chunk_size", settings.stream_chunk_size, 1.0, 400.0);
  return settings;
}

SpeechOrder parse_xtts_order(std::string_view body, const XttsSettings& settings,
                             std::size_t most_bytes_of_text) {
  const Fields fields(body);
  SpeechOrder order{.text = fields.text("text"),
                    .voice = fields.text("speaker_wav"),
                    .model = {},
                    .language = fields.text("language"),
                    .format = SoundFormat::Wav,
                    .speed = settings.speed,
                    .chunk_codes = settings.stream_chunk_size,
                    .sampling = {.temperature = settings.temperature,
                                 .top_k = settings.top_k,
                                 .top_p = settings.top_p,
                                 .repetition_penalty = settings.repetition_penalty}};
  check_text(order.text, most_bytes_of_text, "text");
  return order;
}

}  // namespace myxtts
