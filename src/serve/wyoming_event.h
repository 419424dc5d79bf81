// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace myxtts {

// A message of Home Assistant's Wyoming protocol: a line of JSON, then more JSON and bytes whose
// lengths the line says.
struct WyomingEvent {
  std::string type;
  nlohmann::json data = nlohmann::json::object();
  std::string payload = {};
};

std::string print_event(const WyomingEvent& event);

// Reads events from a stream of bytes that comes as it likes.
class WyomingReader {
 public:
  void add(std::string_view bytes) { buffer_.append(bytes); }

  // Nothing: more bytes are needed. Throws RequestError for what is no event, or too large.
  std::optional<WyomingEvent> next();

 private:
  std::string buffer_;
};

// Takes text as it comes and gives it back in whole sentences.
class SentenceCollector {
 public:
  // The sentences that are whole now; the rest waits.
  std::string add(std::string_view text);
  std::string rest();

 private:
  std::string waiting_;
};

}  // namespace myxtts
