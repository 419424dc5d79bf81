// SPDX-License-Identifier: Apache-2.0
#include "http/guarded_server.h"

#include <chrono>
#include <thread>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/log.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

using httplib::Request;
using httplib::Response;

constexpr std::size_t kLongestPath = 512;  // bytes
constexpr std::size_t kMostHeaders = 100;
constexpr int kRetryAfter = 2;  // seconds

Visitor visitor_of(const Request& request) {
  return {.path = request.path,
          .address = request.remote_addr,
          .authorization = request.get_header_value("Authorization"),
          .host = request.get_header_value("Host"),
          .origin = request.get_header_value("Origin"),
          .fetch_site = request.get_header_value("Sec-Fetch-Site")};
}

}  // namespace

std::string Addresses::methods_at(const std::string& path) const {
  std::vector<std::string> methods;
  for (const auto& [method, pattern] : known_) {
    if (std::regex_match(path, pattern)) methods.push_back(method);
  }
  return fmt::format("{}", fmt::join(methods, ", "));
}

Routes::Handler Routes::guarded(Handler handler) const {
  return
      [shape = shape_, handler = std::move(handler)](const Request& request, Response& response) {
        answer_failures(shape, response, [&] { handler(request, response); });
      };
}

void Routes::get(const char* path, Handler handler) {
  addresses_.add("GET", path);
  server_.Get(path, guarded(std::move(handler)));
}

void Routes::post(const char* path, Handler handler) {
  addresses_.add("POST", path);
  server_.Post(path, guarded(std::move(handler)));
}

void Routes::patch(const char* path, Handler handler) {
  addresses_.add("PATCH", path);
  server_.Patch(path, guarded(std::move(handler)));
}

void Routes::remove(const char* path, Handler handler) {
  addresses_.add("DELETE", path);
  server_.Delete(path, guarded(std::move(handler)));
}

void Routes::post_body(const char* path, BodyHandler handler) {
  addresses_.add("POST", path);
  server_.Post(
      path, [shape = shape_, handler = std::move(handler)](
                const Request& request, Response& response, const httplib::ContentReader& reader) {
        answer_failures(shape, response, [&] {
          if (request.is_multipart_form_data()) {
            throw RequestError(415, "not_json", "This address takes JSON, and the body is a form.");
          }
          std::string body;
          const bool is_whole = reader([&body](const char* data, std::size_t size) {
            body.append(data, size);
            return true;
          });
          if (is_whole) handler(body, response);
        });
      });
}

GuardedServer::GuardedServer(ListenOptions listen, ServerTraits traits)
    : listen_(std::move(listen)),
      traits_(std::move(traits)),
      access_(listen_.access),
      server_(listen_.pace) {
  set_limits();
  set_rules();
  routes().get("/health", [](const Request&, Response& response) {
    answer_json(response, {{"status", "ok"}});
  });
  server_.Options(".*", [](const Request&, Response& response) { response.status = 204; });
}

void GuardedServer::set_limits() {
  server_.new_task_queue = [this] {
    return new httplib::ThreadPool(listen_.connections);  // the server deletes it
  };
  server_.set_payload_max_length(traits_.largest_body);
  server_.set_tcp_nodelay(true);
  // Without this, two servers could share a port and take turns.
  server_.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
}

ErrorShape GuardedServer::shape_of(const Request& request) const {
  return traits_.shape_of ? traits_.shape_of(request.path) : ErrorShape::Detail;
}

void GuardedServer::set_rules() {
  server_.set_pre_routing_handler([this](const Request& request, Response& response) {
    return check_request(request, response);
  });
  server_.set_post_routing_handler([this](const Request& request, Response& response) {
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
  server_.set_error_handler(put_error);
  server_.set_exception_handler(
      [this](const Request& request, Response& response, std::exception_ptr) {
        answer_error(response, {500, "internal_error", "The server failed; its log says more."},
                     shape_of(request));
      });
  server_.set_logger([this](const Request& request, const Response& response) {
    if (traits_.answered) traits_.answered(response.status);
    log_debug(traits_.name, "{} {} {}", request.method, printable(request.path), response.status);
  });
}

// What is wrong with a request that no handler answered.
RequestError GuardedServer::fault_of(const Request& request, Response& response) const {
  const int status = response.status;
  const std::string methods = addresses_.methods_at(request.path);
  if (status == 404 && !methods.empty()) {
    response.set_header("Allow", methods);
    return {405, "method_not_allowed",
            fmt::format("{} takes {}, and the request is a {}.", printable(request.path), methods,
                        printable(request.method))};
  }
  return {status, "http_" + std::to_string(status),
          status == 404   ? "There is nothing at this address; " + traits_.help
          : status == 413 ? "The request is too large."
                          : "The request cannot be understood."};
}

// Before anything of the request is read but its head.
GuardedServer::HandlerResponse GuardedServer::check_request(const Request& request,
                                                            Response& response) {
  const auto reject = [&](const RequestError& error) {
    answer_error(response, error, shape_of(request));
    response.set_header("Connection", "close");
    return HandlerResponse::Handled;
  };
  if (request.path.size() > kLongestPath || request.headers.size() > kMostHeaders) {
    return reject({431, "too_large", "The address or the headers of the request are too long."});
  }
  if (request.has_header("Content-Encoding")) {  // a small body could grow without bound
    return reject({415, "compressed_body", "Send the body of the request uncompressed."});
  }
  if (const auto refusal = access_.check(visitor_of(request))) {
    return reject(*refusal);
  }
  if (is_draining_ && request.path != "/health" && request.path != traits_.open_while_draining) {
    return reject({503, "server_ending", "The server is ending; ask again when it is back."});
  }
  return HandlerResponse::Unhandled;
}

// Cross-origin requests of the pages that were named.
void GuardedServer::allow_origin(const Request& request, Response& response) const {
  const std::string origin = request.get_header_value("Origin");
  if (origin.empty() || !access_.allows_origin(origin)) return;
  response.set_header("Access-Control-Allow-Origin", origin);
  response.set_header("Vary", "Origin");
  response.set_header("Access-Control-Allow-Headers", "Authorization, Content-Type");
  response.set_header("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE, OPTIONS");
}

int GuardedServer::listen() {
  const int port = listen_.port == 0 ? server_.bind_to_any_port(listen_.host)
                   : server_.bind_to_port(listen_.host, listen_.port) ? listen_.port
                                                                      : -1;
  if (port > 0) return port;
  throw ConfigError(
      fmt::format("Nobody can listen at {}, port {}: the port is taken or the address is not this "
                  "machine's. Choose another with --port N, or --host.",
                  listen_.host, listen_.port));
}

void GuardedServer::serve() {
  if (!is_stopped_) server_.listen_after_bind();
  has_served_ = true;
}

// The library forgets a stop that comes before it runs.
void GuardedServer::stop() {
  is_draining_ = true;
  is_stopped_ = true;
  while (!has_served_ && !server_.is_running()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  server_.stop();
}

}  // namespace myxtts
