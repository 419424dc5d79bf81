// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <httplib.h>

#include <nlohmann/json.hpp>

#include "http/request_error.h"

namespace myxtts {

// How a protocol puts its errors.
enum class ErrorShape {
  OpenAi,  // {"error": {"message": ..., "type": ..., "param": ..., "code": ...}}
  Detail   // {"detail": ...}
};

// Bytes that are not UTF-8 are replaced.
std::string text_of(const nlohmann::json& json);

void answer_json(httplib::Response& response, const nlohmann::json& json, int status = 200);
void answer_error(httplib::Response& response, const RequestError& error, ErrorShape shape);

// A page that may ask this server alone and nobody else; what it shows and plays may also lie in
// itself.
void answer_page(httplib::Response& response, std::string_view page);

// Does the work of a handler; its errors become the answer.
void answer_failures(ErrorShape shape, httplib::Response& response,
                     const std::function<void()>& work);

std::string base64(std::string_view bytes);

// As a browser's encodeURIComponent() writes it.
std::string in_address(std::string_view text);

}  // namespace myxtts
