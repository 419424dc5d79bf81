// SPDX-License-Identifier: Apache-2.0
#include "serve/wyoming_event.h"

#include <algorithm>
#include <array>
#include <utility>

#include "config/json.h"
#include "http/request_error.h"

namespace myxtts {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestLine = 65'536;
constexpr std::size_t kLargestPart = 1'000'000;

// Where a sentence ends: behind one of these and a blank, or at the end of a line.
constexpr std::array<std::string_view, 8> kEnds = {".", "!", "?", "…", "。", "！", "？", "؟"};

Json json_of(std::string_view text) {
  Json json = parse_shallow_json<Json>(text);
  if (json.is_object()) return json;
  throw RequestError(400, "invalid_event", "This is no event of the Wyoming protocol.");
}

std::size_t length_in(const Json& header, const char* name) {
  if (!header.contains(name) || header[name].is_null()) return 0;
  if (header[name].is_number_unsigned() && header[name].get<std::size_t>() <= kLargestPart) {
    return header[name].get<std::size_t>();
  }
  throw RequestError(413, "event_too_large", "A part of the event is too large.");
}

}  // namespace

std::string print_event(const WyomingEvent& event) {
  const std::string data =
      event.data.empty() ? "" : event.data.dump(-1, ' ', false, Json::error_handler_t::replace);
  Json header = {{"type", event.type}};
  if (!data.empty()) header["data_length"] = data.size();
  if (!event.payload.empty()) header["payload_length"] = event.payload.size();
  return header.dump() + "\n" + data + event.payload;
}

std::optional<WyomingEvent> WyomingReader::next() {
  const auto line_end = buffer_.find('\n');
  if (line_end == std::string::npos) {
    if (buffer_.size() <= kLongestLine) return {};
    throw RequestError(413, "event_too_large", "The first line of the event is too long.");
  }
  const Json header = json_of(std::string_view(buffer_).substr(0, line_end));
  const std::size_t data = length_in(header, "data_length");
  const std::size_t payload = length_in(header, "payload_length");
  const std::size_t whole = line_end + 1 + data + payload;
  if (buffer_.size() < whole) return {};
  if (!header.contains("type") || !header["type"].is_string()) {
    throw RequestError(400, "invalid_event", "An event without a type.");
  }
  WyomingEvent event{.type = header["type"].get<std::string>()};
  if (header.contains("data") && header["data"].is_object()) event.data = header["data"];
  if (data > 0) event.data.update(json_of(std::string_view(buffer_).substr(line_end + 1, data)));
  event.payload = buffer_.substr(line_end + 1 + data, payload);
  buffer_.erase(0, whole);
  return event;
}

std::string SentenceCollector::add(std::string_view text) {
  waiting_.append(text);
  std::size_t end = 0;  // behind the last whole sentence
  for (std::size_t at = 0; at + 1 < waiting_.size(); ++at) {
    const bool is_break =
        waiting_[at] == '\n' ||
        (waiting_[at + 1] == ' ' && std::ranges::any_of(kEnds, [&](std::string_view mark) {
           return std::string_view(waiting_).substr(0, at + 1).ends_with(mark);
         }));
    if (is_break) end = at + 1;
  }
  std::string whole = waiting_.substr(0, end);
  waiting_.erase(0, end);
  return whole;
}

std::string SentenceCollector::rest() {
  return std::exchange(waiting_, {});
}

}  // namespace myxtts
