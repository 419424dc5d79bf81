// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "audio/ffmpeg.h"
#include "base/files.h"
#include "config/json.h"
#include "serve/http_server.h"
#include "serve/speech_order.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

using httplib::Request;
using httplib::Response;
using Json = nlohmann::json;

constexpr std::size_t kLargestSample = 100'000'000;  // bytes

// Clients send "anna.wav" for the voice anna.
std::string voice_name(const std::string& speaker) {
  const fs::path path(speaker);
  const auto endings = audio_endings();
  const bool is_file = std::ranges::find(endings, path.extension().string()) != endings.end() ||
                       path.extension() == ".safetensors";
  return is_file ? path.stem().string() : speaker;
}

// As the settings that were made before say.
SpeechOrder order_of(std::string_view body, RouteContext& context) {
  const std::lock_guard lock(context.mutex);
  SpeechOrder order = parse_xtts_order(body, context.xtts, context.options.most_bytes_of_text);
  order.voice = voice_name(order.voice);
  order.model = context.xtts_model;
  return order;
}

// GET has in its query what POST has in its body.
std::string body_of_query(const Request& request) {
  Json json = Json::object();
  for (const char* name : {"text", "speaker_wav", "language"}) {
    if (request.has_param(name)) json[name] = request.get_param_value(name);
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.';
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

Json speakers(const Request& request, SpeechService& service) {
  Json list = Json::array();
  const std::string host = request.get_header_value("Host");
  for (const auto& name : service.voice_names()) {
    list.push_back(
        {{"name", name},
         {"voice_id", name},
         {"preview_url", "http://" + host + "/sample/" + percent_encoded(name) + ".wav"}});
  }
  return list;
}

Json languages(SpeechService& service) {
  Json codes = Json::object();
  const auto model = service.models().get({});
  for (const auto& code : spoken_languages(model->model())) codes[code] = code;
  return codes;
}

void answer_sample(const Request& request, Response& response, SpeechService& service) {
  const auto voice = service.voices().find(voice_name(request.matches[1]));
  if (!voice || voice->clips.empty()) {
    throw RequestError(404, "voice_not_found", "There is no recording of such a voice.");
  }
  response.set_content(read_text_file(voice->clips.front(), "clip", kLargestSample), "audio/wav");
}

// Only below the folder that was named for it, by a name without a path.
void write_to_file(const std::string& text, Response& response, RouteContext& context) {
  const fs::path& folder = context.options.outputs;
  if (folder.empty()) {
    throw RequestError(403, "no_output_folder",
                       "The server writes no files; start it with --outputs DIR to allow it.");
  }
  const Json body = parse_shallow_json<Json>(text);
  const std::string name = body.is_object() && body.contains("file_name_or_path") &&
                                   body["file_name_or_path"].is_string()
                               ? body["file_name_or_path"].get<std::string>()
                               : std::string();
  check_voice_name(name);  // the same rule: no slash, no leading dot
  const fs::path path = folder / fs::path(name).replace_extension(".wav");
  const std::string sound = whole_wav(order_of(text, context), context);
  write_for_request(path, sound);
  answer_json(response, {{"message", "The audio was successfully made and stored."},
                         {"output_path", path.string()}});
}

void switch_model(const Request& request, Response& response, RouteContext& context) {
  const Json body = parse_shallow_json<Json>(request.body);
  if (!body.is_object() || !body.contains("model_name") || !body["model_name"].is_string()) {
    throw RequestError(400, "invalid_json", "Send the name: {\"model_name\": \"...\"}.");
  }
  const std::string name = body["model_name"];
  context.service.models().get(name);
  const std::lock_guard lock(context.mutex);
  context.xtts_model = name;
  answer_json(response, {{"message", "Model switched to " + name}});
}

Json model_names(SpeechService& service) {
  Json names = Json::array();
  for (const auto& model : service.models().models()) names.push_back(model.name);
  return names;
}

void add_speaking_routes(Routes& routes, RouteContext& context) {
  routes.post_body("/tts_to_audio/?", [&](const std::string& body, Response& response) {
    answer_speech(order_of(body, context), context, response, Delivery::Whole);
  });
  routes.post_body("/tts_stream/?", [&](const std::string& body, Response& response) {
    answer_speech(order_of(body, context), context, response);
  });
  routes.get("/tts_stream/?", [&](const Request& request, Response& response) {
    answer_speech(order_of(body_of_query(request), context), context, response);
  });
  routes.post_body("/tts_to_file/?", [&](const std::string& body, Response& response) {
    write_to_file(body, response, context);
  });
}

}  // namespace

void add_xtts_routes(Routes routes, RouteContext& context) {
  const auto list = [&](const char* path, auto make) {
    routes.get(path, [&context, make](const Request& request, Response& response) {
      answer_json(response, make(request, context.service));
    });
  };
  list("/speakers_list/?",
       [](const Request&, SpeechService& service) { return Json(service.voice_names()); });
  list("/speakers/?", speakers);
  list("/languages/?", [](const Request&, SpeechService& service) {
    return Json{{"languages", languages(service)}};
  });
  list("/get_models_list/?",
       [](const Request&, SpeechService& service) { return model_names(service); });
  routes.get("/get_tts_settings/?", [&](const Request&, Response& response) {
    const std::lock_guard lock(context.mutex);
    response.set_content(print_xtts_settings(context.xtts), "application/json");
  });
  routes.post("/set_tts_settings/?", [&](const Request& request, Response& response) {
    const std::lock_guard lock(context.mutex);
    context.xtts = parse_xtts_settings(request.body, context.xtts);
    answer_json(response, {{"message", "Settings successfully applied"}});
  });
  routes.post("/switch_model/?", [&](const Request& request, Response& response) {
    switch_model(request, response, context);
  });
  routes.get("/sample/([^/]+)", [&](const Request& request, Response& response) {
    answer_sample(request, response, context.service);
  });
  add_speaking_routes(routes, context);
}

}  // namespace myxtts
