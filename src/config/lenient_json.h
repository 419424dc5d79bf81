// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace myxtts {

// Reads JSON in which the words Infinity, -Infinity and NaN may stand bare, as Python writes them;
// they become texts. Throws DataError; `subject` opens the message.
nlohmann::ordered_json parse_lenient_json(std::string_view text, const std::string& subject);

// The reverse: those three texts become bare words.
std::string print_lenient_json(const nlohmann::ordered_json& json);

}  // namespace myxtts
