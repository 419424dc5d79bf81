// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <httplib.h>

#include <nlohmann/json.hpp>

#include "serve/http_server.h"
#include "serve/request_error.h"

namespace myxtts {

// Which methods each address takes, for those who come with another.
class Addresses {
 public:
  void add(const char* method, const char* pattern) { known_.emplace_back(method, pattern); }

  // "POST", or "DELETE, PATCH"; empty: there is nothing at this address.
  std::string methods_at(const std::string& path) const;

 private:
  std::vector<std::pair<std::string, std::regex>> known_;  // method, whole path
};

// What the handlers of all routes share. Outlives the server's threads.
struct RouteContext {
  SpeechService& service;
  const HttpOptions& options;
  ServerMetrics metrics = {};
  Addresses addresses = {};
  std::atomic<int> answers = 0;  // of speech, that are not sent to their end yet

  // What xtts-api-server's clients set for all that follows, guarded by the mutex.
  std::mutex mutex = {};
  XttsSettings xtts = {};
  std::string xtts_model = {};
};

// How a protocol puts its errors.
enum class ErrorShape {
  OpenAi,  // {"error": {"message": ..., "type": ..., "param": ..., "code": ...}}
  Detail   // {"detail": ...}
};

void answer_json(httplib::Response& response, const nlohmann::json& json, int status = 200);
void answer_error(httplib::Response& response, const RequestError& error, ErrorShape shape);

// Adds the routes of one protocol. What a handler throws becomes an answer in its shape.
class Routes {
 public:
  using Handler = httplib::Server::Handler;
  using BodyHandler = std::function<void(const std::string& body, httplib::Response& response)>;

  Routes(httplib::Server& server, Addresses& addresses, ErrorShape shape)
      : server_(server), addresses_(addresses), shape_(shape) {}

  void get(const char* path, Handler handler);
  void post(const char* path, Handler handler);
  void patch(const char* path, Handler handler);
  void remove(const char* path, Handler handler);

  // A body that is JSON, whatever its sender calls it: curl calls everything a form, and forms are
  // cut at 8 KB.
  void post_body(const char* path, BodyHandler handler);

 private:
  Handler guarded(Handler handler) const;

  httplib::Server& server_;
  Addresses& addresses_;
  ErrorShape shape_;
};

// Speaks the order and sends the sound: while it is made, or as one whole WAV.
enum class Sent { AsItIsMade, Whole };
void answer_speech(const SpeechOrder& order, RouteContext& context, httplib::Response& response,
                   Sent sent = Sent::AsItIsMade);

// The sound of the order as a whole WAV.
std::string whole_wav(const SpeechOrder& order, RouteContext& context);

void add_openai_routes(httplib::Server& server, RouteContext& context);
void add_xtts_routes(httplib::Server& server, RouteContext& context);

}  // namespace myxtts
