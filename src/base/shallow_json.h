// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace myxtts {

// The JSON of a file that may be anybody's. A value that is_discarded() where it is none, or is
// nested more deeply than a file of sense: nlohmann's copying and printing are recursive, and would
// run out of stack.
template <typename Json>
Json parse_shallow_json(std::string_view text) {
  constexpr int kDeepest = 100;
  struct TooDeep {};
  const auto limit = [](int depth, typename Json::parse_event_t, Json&) {
    if (depth > kDeepest) throw TooDeep();
    return true;
  };
  try {
    return Json::parse(text, limit, /*allow_exceptions=*/false);
  } catch (const TooDeep&) {
    return Json(Json::value_t::discarded);
  }
}

}  // namespace myxtts
