// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <httplib.h>

#include "http/access.h"
#include "http/answers.h"
#include "http/paced_server.h"
#include "http/routes.h"

namespace myxtts {

// What differs between the servers of this program.
struct ServerCharacter {
  std::string name;  // in the log: "serve"
  std::string help;  // said where nothing is at an address: "GET / has a page."
  std::size_t largest_body = 0;
  std::function<ErrorShape(std::string_view path)> shape_of = {};  // empty: Detail everywhere
  std::function<void(int status)> answered = {};                   // after each answer
  // Paths that are answered even while the server ends; /health is.
  std::string open_at_end = {};
};

// An HTTP server that reads nothing of a request but its head before the rules let it in, and whose
// every error is a sentence.
//
//   GuardedServer(...) ──▶ routes() ──▶ listen() ──▶ serve() ... until stop(), from any thread
class GuardedServer {
 public:
  GuardedServer(ListenOptions listen, ServerCharacter character);
  GuardedServer(const GuardedServer&) = delete;
  GuardedServer& operator=(const GuardedServer&) = delete;

  // What handlers throw becomes an answer in the shape.
  Routes routes(ErrorShape shape = ErrorShape::Detail) { return {server_, addresses_, shape}; }

  // The port. Throws ConfigError when nobody can listen there.
  int listen();
  void serve();

  // New requests are turned away from now on.
  void begin_to_end() { is_ending_ = true; }
  bool is_ending() const { return is_ending_; }
  // Ends serve(), also one that has not begun yet, and every connection.
  void stop();

 private:
  using HandlerResponse = httplib::Server::HandlerResponse;

  void set_limits();
  void set_rules();
  HandlerResponse look_at(const httplib::Request& request, httplib::Response& response);
  void allow_origin(const httplib::Request& request, httplib::Response& response) const;
  ErrorShape shape_of(const httplib::Request& request) const;
  RequestError fault_of(const httplib::Request& request, httplib::Response& response) const;

  const ListenOptions listen_;
  const ServerCharacter character_;
  Access access_;
  PacedServer server_;
  Addresses addresses_;
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> is_stopped_ = false;
  std::atomic<bool> has_served_ = false;  // and will not any more
};

}  // namespace myxtts
