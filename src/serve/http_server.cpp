// SPDX-License-Identifier: Apache-2.0
#include "serve/http_server.h"

#include <string_view>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/message_text.h"
#include "http/guarded_server.h"
#include "serve/page.h"
#include "serve/routes.h"

namespace myxtts {
namespace {

using httplib::Request;
using httplib::Response;

constexpr std::size_t kLargestBody = 40'000'000;  // voices come in it
constexpr std::chrono::milliseconds kLookAgain{5};

}  // namespace

struct HttpServer::Parts {
  Parts(SpeechService& speech, HttpOptions given)
      : service(speech),
        options(std::move(given)),
        context{.service = service, .options = options},
        server(options.listen, character()) {}

  ServerCharacter character() {
    return {.name = "serve",
            .help = "GET / has a page, and POST /v1/audio/speech speaks.",
            .largest_body = kLargestBody,
            .shape_of =
                [](std::string_view path) {
                  return path.starts_with("/v1/") ? ErrorShape::OpenAi : ErrorShape::Detail;
                },
            .answered = [this](int status) { context.metrics.add_answer(status); },
            .open_at_end = "/metrics"};
  }
  void add_own_routes();

  SpeechService& service;
  const HttpOptions options;
  RouteContext context;
  GuardedServer server;
  int port = 0;
};

void HttpServer::Parts::add_own_routes() {
  Routes routes = server.routes();
  routes.get("/", [](const Request&, Response& response) { answer_page(response, kServerPage); });
  routes.get("/ready", [this](const Request&, Response& response) {
    if (server.is_ending()) return answer_json(response, {{"status", "ending"}}, 503);
    answer_json(response, {{"status", "ready"}});
  });
  routes.get("/metrics", [this](const Request&, Response& response) {
    response.set_content(context.metrics.text(service.state()),
                         "text/plain; version=0.0.4; charset=utf-8");
  });
}

HttpServer::HttpServer(SpeechService& service, HttpOptions options)
    : parts_(std::make_unique<Parts>(service, std::move(options))) {
  parts_->add_own_routes();
  add_openai_routes(parts_->server.routes(ErrorShape::OpenAi), parts_->context);
  add_xtts_routes(parts_->server.routes(), parts_->context);
  parts_->port = parts_->server.listen();
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const {
  return parts_->port;
}

void HttpServer::serve() {
  parts_->server.serve();
}

// What is spoken, and then what is still on its way to a client: the server drops connections when
// it stops.
void HttpServer::stop() {
  parts_->server.begin_to_end();
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(parts_->options.drain);
  const auto end = std::chrono::steady_clock::now() + limit;
  bool is_sent = parts_->service.models().wait_until_idle(limit);
  while (is_sent && parts_->context.answers > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kLookAgain);
  }
  is_sent = is_sent && parts_->context.answers == 0;
  if (!is_sent) {
    log_warning("serve", "what was not sent after {} is cut off", human_duration(limit));
  }
  parts_->server.stop();
}

}  // namespace myxtts
