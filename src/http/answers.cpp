// SPDX-License-Identifier: Apache-2.0
#include "http/answers.h"

#include <exception>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

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

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void answer_json(Response& response, const Json& json, int status) {
  response.status = status;
  response.set_content(text_of(json) + "\n", "application/json");
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

void answer_page(Response& response, std::string_view page) {
  response.set_header("Content-Security-Policy",
                      "default-src 'none'; script-src 'unsafe-inline'; style-src "
                      "'unsafe-inline'; connect-src 'self'; media-src 'self' blob: data:; img-src "
                      "'self' blob: data:; form-action 'none'; frame-ancestors 'none'");
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_content(page.data(), page.size(), "text/html; charset=utf-8");
}

void answer_failures(ErrorShape shape, Response& response, const std::function<void()>& work) {
  try {
    work();
  } catch (const RequestError& error) {
    answer_error(response, error, shape);
  } catch (const Error& error) {  // of the server, not of the request: a model or device is lost
    log_error("http", "{}", error.what());
    answer_error(response, {503, "not_available", error.what()}, shape);
  } catch (const std::filesystem::filesystem_error& error) {
    log_error("http", "{}", error.what());
    answer_error(response, {507, "disk_error", "A file of the server cannot be written or read."},
                 shape);
  } catch (const std::exception& error) {
    log_error("http", "a bug of MyXTTS, please report it: {}", error.what());
    answer_error(response, {500, "internal_error", "The server failed; its log says more."}, shape);
  }
}

std::string in_address(std::string_view text) {
  constexpr std::string_view kPlain = "-_.!~*'()";
  std::string made;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    if (is_letter || (byte >= '0' && byte <= '9') || kPlain.find(c) != std::string_view::npos) {
      made += c;
    } else {
      made += fmt::format("%{:02X}", byte);
    }
  }
  return made;
}

std::string base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // and a zero at its end
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace myxtts
