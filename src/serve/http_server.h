// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>

#include <httplib.h>

#include "http/guarded_server.h"
#include "serve/server_metrics.h"
#include "serve/speech_service.h"

namespace myxtts {

struct HttpOptions {
  ListenOptions listen;
  std::size_t most_bytes_of_text = 20'000;
  std::chrono::seconds drain{30};  // for what is spoken when the server is told to end
  std::filesystem::path outputs;   // of /tts_to_file; empty: nothing is written
  bool logs_text = false;          // what is to be said, in the log
};

// What the handlers of all routes share. Outlives the server's threads.
struct RouteContext {
  SpeechService& service;
  const HttpOptions options;
  ServerMetrics metrics = {};
  std::atomic<int> answers = 0;  // of speech, that are not sent to their end yet

  // What xtts-api-server's clients set for all that follows, guarded by the mutex.
  std::mutex mutex = {};
  XttsSettings xtts = {};
  std::string xtts_model = {};
};

// Speaks the order and sends the sound: while it is made, or as one whole WAV.
enum class Delivery { Streamed, Whole };
void answer_speech(const SpeechOrder& order, RouteContext& context, httplib::Response& response,
                   Delivery delivery = Delivery::Streamed);

// The sound of the order as a whole WAV.
std::string whole_wav(const SpeechOrder& order, RouteContext& context);

void add_openai_routes(Routes routes, RouteContext& context);
void add_xtts_routes(Routes routes, RouteContext& context);

// The service over HTTP: OpenAI's interface, xtts-api-server's, a page, /health, /ready, /metrics.
//
//   HttpServer(...) ──▶ port() ──▶ serve() ... until stop(), from any thread
class HttpServer {
 public:
  // Throws ConfigError when nobody can listen there.
  HttpServer(SpeechService& service, HttpOptions options);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }

  void serve() { server_.serve(); }

  // Takes no new requests, lets what is spoken come to its end for a while, then ends serve().
  void stop();

 private:
  void add_own_routes();

  RouteContext context_;
  GuardedServer server_;
  int port_ = 0;
};

}  // namespace myxtts
