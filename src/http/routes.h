// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <httplib.h>

#include "http/answers.h"

namespace myxtts {

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

}  // namespace myxtts
