// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "config/json.h"
#include "serve/http_server.h"
#include "serve/speech_order.h"

namespace myxtts {
namespace {

using httplib::Request;
using httplib::Response;
using Json = nlohmann::json;

Json voices_json(SpeechService& service) {
  Json voices = Json::array();
  for (const auto& name : service.voice_names()) {
    voices.push_back({{"id", name}, {"name", name}, {"object", "audio.voice"}});
  }
  return voices;
}

void add_voice(const Request& request, Response& response, SpeechService& service) {
  if (!request.is_multipart_form_data()) {
    throw RequestError(415, "not_a_form",
                       "Send a form (multipart/form-data) with a name and one or more files "
                       "audio_sample.");
  }
  const std::string name = request.has_file("name") ? request.get_file_value("name").content : "";
  std::vector<std::string> clips;
  const auto [first, last] = request.files.equal_range("audio_sample");
  for (auto file = first; file != last; ++file) clips.push_back(file->second.content);
  service.add_voice(name, clips);
  answer_json(response, {{"id", name}, {"name", name}, {"object", "audio.voice"}}, 201);
}

void rename_voice(const Request& request, Response& response, SpeechService& service) {
  const Json body = parse_shallow_json<Json>(request.body);
  if (!body.is_object() || !body.contains("name") || !body["name"].is_string()) {
    throw RequestError(400, "invalid_json", "Send the new name: {\"name\": \"...\"}.", "name");
  }
  const std::string name = body["name"];
  service.voices().rename(request.matches[1], name);
  answer_json(response, {{"id", name}, {"name", name}, {"object", "audio.voice"}});
}

}  // namespace

void add_openai_routes(Routes routes, RouteContext& context) {
  routes.post_body("/v1/audio/speech", [&](const std::string& body, Response& response) {
    answer_speech(parse_openai_order(body, context.options.most_bytes_of_text), context, response);
  });
  routes.get("/v1/audio/voices", [&](const Request&, Response& response) {
    answer_json(response, {{"object", "list"}, {"voices", voices_json(context.service)}});
  });
  routes.post("/v1/audio/voices", [&](const Request& request, Response& response) {
    add_voice(request, response, context.service);
  });
  routes.remove("/v1/audio/voices/([^/]+)", [&](const Request& request, Response& response) {
    const std::string name = request.matches[1];
    context.service.voices().remove(name);
    answer_json(response, {{"id", name}, {"deleted", true}});
  });
  routes.patch("/v1/audio/voices/([^/]+)", [&](const Request& request, Response& response) {
    rename_voice(request, response, context.service);
  });
  routes.get("/v1/models", [&](const Request&, Response& response) {
    Json models = Json::array();
    for (const auto& model : context.service.models().models()) {
      models.push_back(
          {{"id", model.name}, {"object", "model"}, {"created", 0}, {"owned_by", "myxtts"}});
    }
    answer_json(response, {{"object", "list"}, {"data", models}});
  });
}

}  // namespace myxtts
