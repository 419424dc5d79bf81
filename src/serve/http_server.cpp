// SPDX-License-Identifier: Apache-2.0
#include "serve/http_server.h"

#include <atomic>
#include <thread>
#include <utility>

#include <httplib.h>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"
#include "serve/page.h"
#include "serve/routes.h"

namespace myxtts {
namespace {

using httplib::Request;
using httplib::Response;
using HandlerResponse = httplib::Server::HandlerResponse;

constexpr std::size_t kLongestPath = 512;  // bytes
constexpr std::size_t kMostHeaders = 100;
constexpr std::size_t kLargestBody = 40'000'000;  // voices come in it
constexpr std::chrono::milliseconds kLookAgain{5};
constexpr int kRetryAfter = 2;       // seconds
constexpr time_t kSlowestRead = 10;  // seconds between two parts of a request
constexpr time_t kSlowestWrite = 30;
constexpr time_t kKeepAlive = 2;

ErrorShape shape_of(const Request& request) {
  return request.path.starts_with("/v1/") ? ErrorShape::OpenAi : ErrorShape::Detail;
}

Visitor visitor_of(const Request& request) {
  return {.path = request.path,
          .address = request.remote_addr,
          .authorization = request.get_header_value("Authorization"),
          .host = request.get_header_value("Host"),
          .origin = request.get_header_value("Origin"),
          .fetch_site = request.get_header_value("Sec-Fetch-Site")};
}

}  // namespace

struct HttpServer::Parts {
  Parts(SpeechService& speech, HttpOptions given)
      : service(speech),
        options(std::move(given)),
        access(options.access),
        context{.service = service, .options = options} {}

  void set_limits();
  void set_rules();
  void add_own_routes();
  RequestError fault_of(const Request& request, Response& response) const;
  HandlerResponse look_at(const Request& request, Response& response);
  void allow_origin(const Request& request, Response& response) const;

  SpeechService& service;
  const HttpOptions options;
  Access access;
  RouteContext context;
  httplib::Server server;
  int port = 0;
  std::atomic<bool> is_ending = false;
};

void HttpServer::Parts::set_limits() {
  server.new_task_queue = [this] {
    return new httplib::ThreadPool(options.connections);  // the server deletes it
  };
  server.set_payload_max_length(kLargestBody);
  server.set_read_timeout(kSlowestRead);
  server.set_write_timeout(kSlowestWrite);
  server.set_keep_alive_timeout(kKeepAlive);
  server.set_tcp_nodelay(true);
  // Without this, two servers could share a port and take turns.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
}

void HttpServer::Parts::set_rules() {
  server.set_pre_routing_handler(
      [this](const Request& request, Response& response) { return look_at(request, response); });
  server.set_post_routing_handler([this](const Request& request, Response& response) {
    allow_origin(request, response);
    if (response.status == 429 || response.status == 503) {
      response.set_header("Retry-After", std::to_string(kRetryAfter));
    }
  });
  const httplib::Server::HandlerWithResponse put_error = [this](const Request& request,
                                                                Response& response) {
    if (!response.body.empty()) return HandlerResponse::Unhandled;
    answer_error(response, fault_of(request, response), shape_of(request));
    return HandlerResponse::Handled;
  };
  server.set_error_handler(put_error);
  server.set_exception_handler([](const Request& request, Response& response, std::exception_ptr) {
    answer_error(response, {500, "internal_error", "The server failed; its log says more."},
                 shape_of(request));
  });
  server.set_logger([this](const Request& request, const Response& response) {
    context.metrics.add_answer(response.status);
    log_debug("serve", "{} {} {}", request.method, printable(request.path), response.status);
  });
}

// What is wrong with a request that no handler answered.
RequestError HttpServer::Parts::fault_of(const Request& request, Response& response) const {
  const int status = response.status;
  const std::string methods = context.addresses.methods_at(request.path);
  if (status == 404 && !methods.empty()) {
    response.set_header("Allow", methods);
    return {405, "method_not_allowed",
            fmt::format("{} takes {}, and the request is a {}.", printable(request.path), methods,
                        printable(request.method))};
  }
  return {status, "http_" + std::to_string(status),
          status == 404   ? "There is nothing at this address; GET / has a page, and POST "
                            "/v1/audio/speech speaks."
          : status == 413 ? "The request is too large."
                          : "The request cannot be understood."};
}

// Before anything of the request is read but its head.
HandlerResponse HttpServer::Parts::look_at(const Request& request, Response& response) {
  const auto turn_away = [&](const RequestError& error) {
    answer_error(response, error, shape_of(request));
    response.set_header("Connection", "close");
    return HandlerResponse::Handled;
  };
  if (request.path.size() > kLongestPath || request.headers.size() > kMostHeaders) {
    return turn_away({431, "too_large", "The address or the headers of the request are too long."});
  }
  if (request.has_header("Content-Encoding")) {  // a small body could grow without bound
    return turn_away({415, "compressed_body", "Send the body of the request uncompressed."});
  }
  if (const auto refusal = access.check(visitor_of(request))) {
    return turn_away({refusal->status, refusal->code, refusal->message});
  }
  if (is_ending && request.path != "/health" && request.path != "/metrics") {
    return turn_away({503, "server_ending", "The server is ending; ask again when it is back."});
  }
  return HandlerResponse::Unhandled;
}

// Cross-origin requests of the pages that were named.
void HttpServer::Parts::allow_origin(const Request& request, Response& response) const {
  const std::string origin = request.get_header_value("Origin");
  if (origin.empty() || !access.allows_origin(origin)) return;
  response.set_header("Access-Control-Allow-Origin", origin);
  response.set_header("Vary", "Origin");
  response.set_header("Access-Control-Allow-Headers", "Authorization, Content-Type");
  response.set_header("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE, OPTIONS");
}

void HttpServer::Parts::add_own_routes() {
  Routes routes(server, context.addresses, ErrorShape::Detail);
  routes.get("/", [](const Request&, Response& response) {
    response.set_header("Content-Security-Policy",
                        "default-src 'none'; script-src 'unsafe-inline'; style-src "
                        "'unsafe-inline'; connect-src 'self'; media-src 'self' blob:; img-src "
                        "data:; form-action 'none'; frame-ancestors 'none'");
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_content(kServerPage.data(), kServerPage.size(), "text/html; charset=utf-8");
  });
  routes.get("/health", [](const Request&, Response& response) {
    answer_json(response, {{"status", "ok"}});
  });
  routes.get("/ready", [this](const Request&, Response& response) {
    if (is_ending) return answer_json(response, {{"status", "ending"}}, 503);
    answer_json(response, {{"status", "ready"}});
  });
  routes.get("/metrics", [this](const Request&, Response& response) {
    response.set_content(context.metrics.text(service.state()),
                         "text/plain; version=0.0.4; charset=utf-8");
  });
  server.Options(".*", [](const Request&, Response& response) { response.status = 204; });
}

HttpServer::HttpServer(SpeechService& service, HttpOptions options)
    : parts_(std::make_unique<Parts>(service, std::move(options))) {
  parts_->set_limits();
  parts_->set_rules();
  parts_->add_own_routes();
  add_openai_routes(parts_->server, parts_->context);
  add_xtts_routes(parts_->server, parts_->context);
  const auto& [host, port] = std::pair(parts_->options.host, parts_->options.port);
  parts_->port = port == 0                                 ? parts_->server.bind_to_any_port(host)
                 : parts_->server.bind_to_port(host, port) ? port
                                                           : -1;
  if (parts_->port > 0) return;
  throw ConfigError(
      fmt::format("Nobody can listen at {}, port {}: the port is taken or the address is not this "
                  "machine's. Choose another with --port N, or --host.",
                  host, port));
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const {
  return parts_->port;
}

void HttpServer::serve() {
  parts_->server.listen_after_bind();
}

// What is spoken, and then what is still on its way to a client: the server drops connections when
// it stops.
void HttpServer::stop() {
  parts_->is_ending = true;
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
