// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace myxtts {

// A request that cannot be fulfilled; becomes its answer. The message is for the person who sent
// it.
class RequestError : public std::runtime_error {
 public:
  RequestError(int status, std::string code, const std::string& message, std::string field = {})
      : std::runtime_error(message),
        status_(status),
        code_(std::move(code)),
        field_(std::move(field)) {}

  int status() const { return status_; }  // of HTTP
  const std::string& code() const { return code_; }
  const std::string& field() const { return field_; }  // of the request that is at fault, or empty

 private:
  int status_;
  std::string code_;
  std::string field_;
};

}  // namespace myxtts
