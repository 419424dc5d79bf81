// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "serve/routes.h"
#include "serve/speech_order.h"

namespace myxtts {
namespace {

using httplib::Request;
using httplib::Response;
using Json = nlohmann::json;

// By the kinds that OpenAI's clients know.
const char* type_of(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

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
  const Json body = Json::parse(request.body, nullptr, false);
  if (!body.is_object() || !body.contains("name") || !body["name"].is_string()) {
    throw RequestError(400, "invalid_json", "Send the new name: {\"name\": \"...\"}.", "name");
  }
  const std::string name = body["name"];
  service.voices().rename(request.matches[1], name);
  answer_json(response, {{"id", name}, {"name", name}, {"object", "audio.voice"}});
}

}  // namespace

void answer_json(Response& response, const Json& json, int status) {
  response.status = status;
  response.set_content(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n",
                       "application/json");
}

void answer_error(Response& response, const RequestError& error, ErrorShape shape) {
  if (shape == ErrorShape::Detail) {
    answer_json(response, {{"detail", error.what()}}, error.status());
    return;
  }
  answer_json(response,
              {{"error",
                {{"message", error.what()},
                 {"type", type_of(error.status())},
                 {"param", error.field().empty() ? Json() : Json(error.field())},
                 {"code", error.code()}}}},
              error.status());
}

namespace {

void answer_failures(ErrorShape shape, Response& response, const std::function<void()>& work) {
  try {
    work();
  } catch (const RequestError& error) {
    answer_error(response, error, shape);
  } catch (const Error& error) {  // of the server, not of the request: a model or device is lost
    log_error("serve", "{}", error.what());
    answer_error(response, {503, "not_available", error.what()}, shape);
  } catch (const std::filesystem::filesystem_error& error) {
    log_error("serve", "{}", error.what());
    answer_error(response, {507, "disk_error", "A file of the server cannot be written or read."},
                 shape);
  } catch (const std::exception& error) {
    log_error("serve", "a bug of MyXTTS, please report it: {}", error.what());
    answer_error(response, {500, "internal_error", "The server failed; its log says more."}, shape);
  }
}

}  // namespace

httplib::Server::Handler guarded(ErrorShape shape, httplib::Server::Handler handler) {
  return [shape, handler = std::move(handler)](const Request& request, Response& response) {
    answer_failures(shape, response, [&] { handler(request, response); });
  };
}

void add_post(httplib::Server& server, const char* path, ErrorShape shape, BodyHandler handler) {
  server.Post(path, [shape, handler = std::move(handler)](const Request&, Response& response,
                                                          const httplib::ContentReader& reader) {
    answer_failures(shape, response, [&] {
      std::string body;
      const bool is_whole = reader([&body](const char* data, std::size_t size) {
        body.append(data, size);
        return true;
      });
      if (is_whole) handler(body, response);
    });
  });
}

void add_openai_routes(httplib::Server& server, RouteContext& context) {
  const auto handle = [](httplib::Server::Handler handler) {
    return guarded(ErrorShape::OpenAi, std::move(handler));
  };
  add_post(server, "/v1/audio/speech", ErrorShape::OpenAi,
           [&](const std::string& body, Response& response) {
             answer_speech(parse_openai_order(body, context.options.most_bytes_of_text), context,
                           response);
           });
  server.Get(
      "/v1/audio/voices", handle([&](const Request&, Response& response) {
        answer_json(response, {{"object", "list"}, {"voices", voices_json(context.service)}});
      }));
  server.Post("/v1/audio/voices", handle([&](const Request& request, Response& response) {
                add_voice(request, response, context.service);
              }));
  server.Delete("/v1/audio/voices/([^/]+)", handle([&](const Request& request, Response& response) {
                  const std::string name = request.matches[1];
                  context.service.voices().remove(name);
                  answer_json(response, {{"id", name}, {"deleted", true}});
                }));
  server.Patch("/v1/audio/voices/([^/]+)", handle([&](const Request& request, Response& response) {
                 rename_voice(request, response, context.service);
               }));
  server.Get(
      "/v1/models", handle([&](const Request&, Response& response) {
        Json models = Json::array();
        for (const auto& model : context.service.models().models()) {
          models.push_back(
              {{"id", model.name}, {"object", "model"}, {"created", 0}, {"owned_by", "myxtts"}});
        }
        answer_json(response, {{"object", "list"}, {"data", models}});
      }));
}

}  // namespace myxtts
