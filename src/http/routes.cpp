// SPDX-License-Identifier: Apache-2.0
#include "http/routes.h"

#include <fmt/ranges.h>

namespace myxtts {

using httplib::Request;
using httplib::Response;

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

}  // namespace myxtts
