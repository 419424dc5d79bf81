// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "http/access.h"
#include "serve/speech_service.h"

namespace myxtts {

struct HttpOptions {
  ListenOptions listen;
  std::size_t most_bytes_of_text = 20'000;
  std::chrono::seconds drain{30};  // for what is spoken when the server is told to end
  std::filesystem::path outputs;   // of /tts_to_file; empty: nothing is written
  bool logs_text = false;          // what is to be said, in the log
};

// The service over HTTP: OpenAI's interface, xtts-api-server's, a page, /health, /ready, /metrics.
//
//   HttpServer(...) ──▶ port() ──▶ serve() ... until stop(), from any thread
class HttpServer {
 public:
  // Throws ConfigError when nobody can listen there.
  HttpServer(SpeechService& service, HttpOptions options);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  int port() const;

  void serve();

  // Takes no new requests, lets what is spoken come to its end for a while, then ends serve().
  void stop();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace myxtts
