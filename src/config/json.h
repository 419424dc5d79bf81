// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>

namespace myxtts {

// The JSON of a file that may be anybody's. A value that is_discarded() where it is none, or is
// nested more deeply than a file of sense: nlohmann's copying and printing are recursive, and would
// run out of stack.
template <typename Json>
Json parse_shallow_json(std::string_view text) {
  constexpr int kDeepest = 100;
  bool is_too_deep = false;
  const auto limit = [&](int depth, typename Json::parse_event_t, Json&) {
    is_too_deep = is_too_deep || depth > kDeepest;
    return !is_too_deep;
  };
  Json json = Json::parse(text, limit, /*allow_exceptions=*/false);
  if (is_too_deep) json = Json(Json::value_t::discarded);
  return json;
}

// Reads JSON in which the words Infinity, -Infinity and NaN may stand bare, as Python writes them;
// they become texts. Throws DataError; `subject` opens the message.
nlohmann::ordered_json parse_lenient_json(std::string_view text, const std::string& subject);

// The reverse: those three texts become bare words.
std::string print_lenient_json(const nlohmann::ordered_json& json);

}  // namespace myxtts
