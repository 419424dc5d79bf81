// SPDX-License-Identifier: Apache-2.0
#include "serve/routes.h"

#include <exception>
#include <filesystem>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/log.h"

namespace myxtts {
namespace {

using httplib::Request;
using httplib::Response;
using Json = nlohmann::json;

// By the kinds that OpenAI's clients know.
const char* type_of(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

}  // namespace

void answer_json(Response& response, const Json& json, int status) {
  response.status = status;
  response.set_content(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n",
                       "application/json");
}

void answer_error(Response& response, const RequestError& error, ErrorShape shape) {
  if (shape == ErrorShape::Detail) {
    answer_json(response, {{"detail", error.what()}}, error.status());
    return;
  }
  answer_json(response,
              {{"error",
                {{"message", error.what()},
                 {"type", type_of(error.status())},
                 {"param", error.field().empty() ? Json() : Json(error.field())},
                 {"code", error.code()}}}},
              error.status());
}

namespace {

void answer_failures(ErrorShape shape, Response& response, const std::function<void()>& work) {
  try {
    work();
  } catch (const RequestError& error) {
    answer_error(response, error, shape);
  } catch (const Error& error) {  // of the server, not of the request: a model or device is lost
    log_error("serve", "{}", error.what());
    answer_error(response, {503, "not_available", error.what()}, shape);
  } catch (const std::filesystem::filesystem_error& error) {
    log_error("serve", "{}", error.what());
    answer_error(response, {507, "disk_error", "A file of the server cannot be written or read."},
                 shape);
  } catch (const std::exception& error) {
    log_error("serve", "a bug of MyXTTS, please report it: {}", error.what());
    answer_error(response, {500, "internal_error", "The server failed; its log says more."}, shape);
  }
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
  server_.Post(path, [shape = shape_, handler = std::move(handler)](
                         const Request&, Response& response, const httplib::ContentReader& reader) {
    answer_failures(shape, response, [&] {
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
