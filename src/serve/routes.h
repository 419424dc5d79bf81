// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include <httplib.h>

#include <nlohmann/json.hpp>

#include "http/answers.h"
#include "serve/http_server.h"

namespace myxtts {

// What the handlers of all routes share. Outlives the server's threads.
struct RouteContext {
  SpeechService& service;
  const HttpOptions& options;
  ServerMetrics metrics = {};
  std::atomic<int> answers = 0;  // of speech, that are not sent to their end yet

  // What xtts-api-server's clients set for all that follows, guarded by the mutex.
  std::mutex mutex = {};
  XttsSettings xtts = {};
  std::string xtts_model = {};
};

// A route whose body is JSON, whatever its sender calls it: curl calls everything a form, and forms
// are cut at 8 KB.
using BodyHandler = std::function<void(const std::string& body, httplib::Response& response)>;
void add_post(httplib::Server& server, const char* path, ErrorShape shape, BodyHandler handler);

// Speaks the order and sends the sound while it is made.
void answer_speech(const SpeechOrder& order, RouteContext& context, httplib::Response& response);

// The same as one whole WAV.
std::string whole_wav(const SpeechOrder& order, RouteContext& context);

void add_openai_routes(httplib::Server& server, RouteContext& context);
void add_xtts_routes(httplib::Server& server, RouteContext& context);

}  // namespace myxtts
