// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include <httplib.h>

#include <nlohmann/json.hpp>

#include "http/routes.h"
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

// Speaks the order and sends the sound: while it is made, or as one whole WAV.
enum class Sent { AsItIsMade, Whole };
void answer_speech(const SpeechOrder& order, RouteContext& context, httplib::Response& response,
                   Sent sent = Sent::AsItIsMade);

// The sound of the order as a whole WAV.
std::string whole_wav(const SpeechOrder& order, RouteContext& context);

void add_openai_routes(Routes routes, RouteContext& context);
void add_xtts_routes(Routes routes, RouteContext& context);

}  // namespace myxtts
