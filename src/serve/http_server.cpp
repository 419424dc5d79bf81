// SPDX-License-Identifier: Apache-2.0
#include "serve/http_server.h"

#include <string_view>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {

// The page at /, made of the files in page/ when the program is built.
extern const std::string_view kServerPage;

namespace {

using httplib::Request;
using httplib::Response;

constexpr std::size_t kLargestBody = 40'000'000;  // voices come in it
constexpr std::chrono::milliseconds kLookAgain{5};

ServerTraits traits_of(RouteContext& context) {
  return {.name = "serve",
          .help = "GET / has a page, and POST /v1/audio/speech speaks.",
          .largest_body = kLargestBody,
          .shape_of =
              [](std::string_view path) {
                return path.starts_with("/v1/") ? ErrorShape::OpenAi : ErrorShape::Detail;
              },
          .answered = [&context](int status) { context.metrics.add_answer(status); },
          .open_while_draining = "/metrics"};
}

}  // namespace

HttpServer::HttpServer(SpeechService& service, HttpOptions options)
    : context_{.service = service, .options = std::move(options)},
      server_(context_.options.listen, traits_of(context_)) {
  add_own_routes();
  add_openai_routes(server_.routes(ErrorShape::OpenAi), context_);
  add_xtts_routes(server_.routes(), context_);
  port_ = server_.listen();
}

void HttpServer::add_own_routes() {
  Routes routes = server_.routes();
  routes.get("/", [](const Request&, Response& response) { answer_page(response, kServerPage); });
  routes.get("/ready", [this](const Request&, Response& response) {
    if (server_.is_draining()) return answer_json(response, {{"status", "ending"}}, 503);
    answer_json(response, {{"status", "ready"}});
  });
  routes.get("/metrics", [this](const Request&, Response& response) {
    response.set_content(context_.metrics.text(context_.service.state()),
                         "text/plain; version=0.0.4; charset=utf-8");
  });
}

// What is spoken, and then what is still on its way to a client: the server drops connections when
// it stops.
void HttpServer::stop() {
  server_.drain();
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(context_.options.drain);
  const auto end = std::chrono::steady_clock::now() + limit;
  bool is_sent = context_.service.models().wait_until_idle(limit);
  while (is_sent && context_.answers > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kLookAgain);
  }
  is_sent = is_sent && context_.answers == 0;
  if (!is_sent) {
    log_warning("serve", "what was not sent after {} is cut off", human_duration(limit));
  }
  server_.stop();
}

}  // namespace myxtts
