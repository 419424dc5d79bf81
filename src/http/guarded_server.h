// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <httplib.h>

#include "http/access.h"
#include "http/answers.h"

namespace myxtts {

// The library's server, but connections whose other end is too slow are closed.
class PacedServer : public httplib::Server {
 public:
  explicit PacedServer(Pace pace = {}) : pace_(pace) {}

 private:
  bool process_and_close_socket(socket_t socket) override;
  bool has_next_request(class PacedStream& connection) const;

  const Pace pace_;
};

// Which methods each address takes, for those who come with another.
class Addresses {
 public:
  void add(const char* method, const char* pattern) { known_.emplace_back(method, pattern); }

  // "POST", or "DELETE, PATCH"; empty: there is nothing at this address.
  std::string methods_at(const std::string& path) const;

 private:
  std::vector<std::pair<std::string, std::regex>> known_;  // method, whole path
};

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

// What differs between the servers of this program.
struct ServerTraits {
  std::string name;  // in the log: "serve"
  std::string help;  // said where nothing is at an address: "GET / has a page."
  std::size_t largest_body = 0;
  std::function<ErrorShape(std::string_view path)> shape_of = {};  // empty: Detail everywhere
  std::function<void(int status)> answered = {};                   // after each answer
  // Paths that are answered even while the server ends; /health is.
  std::string open_while_draining = {};
};

// An HTTP server that reads nothing of a request but its head before the rules let it in, and whose
// every error is a sentence.
//
//   GuardedServer(...) ──▶ routes() ──▶ listen() ──▶ serve() ... until stop(), from any thread
class GuardedServer {
 public:
  GuardedServer(ListenOptions listen, ServerTraits traits);
  GuardedServer(const GuardedServer&) = delete;
  GuardedServer& operator=(const GuardedServer&) = delete;

  // What handlers throw becomes an answer in the shape.
  Routes routes(ErrorShape shape = ErrorShape::Detail) { return {server_, addresses_, shape}; }

  // The port. Throws ConfigError when nobody can listen there.
  int listen();
  void serve();

  // New requests are turned away from now on.
  void drain() { is_draining_ = true; }
  bool is_draining() const { return is_draining_; }
  // Ends serve(), also one that has not begun yet, and every connection.
  void stop();

 private:
  using HandlerResponse = httplib::Server::HandlerResponse;

  void set_limits();
  void set_rules();
  HandlerResponse check_request(const httplib::Request& request, httplib::Response& response);
  void allow_origin(const httplib::Request& request, httplib::Response& response) const;
  ErrorShape shape_of(const httplib::Request& request) const;
  RequestError fault_of(const httplib::Request& request, httplib::Response& response) const;

  const ListenOptions listen_;
  const ServerTraits traits_;
  Access access_;
  PacedServer server_;
  Addresses addresses_;
  std::atomic<bool> is_draining_ = false;
  std::atomic<bool> is_stopped_ = false;
  std::atomic<bool> has_served_ = false;  // and will not any more
};

}  // namespace myxtts
