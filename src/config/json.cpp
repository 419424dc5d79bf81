// SPDX-License-Identifier: Apache-2.0
#include "config/json.h"

#include <array>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file_remedies.h"
#include "base/files.h"

namespace myxtts {
namespace {

constexpr std::array<std::string_view, 3> kWords = {"-Infinity", "Infinity", "NaN"};

// The word that stands at the beginning of `text`; empty if none does.
std::string_view word_at(std::string_view text) {
  for (const std::string_view word : kWords) {
    if (text.starts_with(word)) return word;
  }
  return {};
}

std::string with_quoted_words(std::string_view text) {
  std::string quoted;
  quoted.reserve(text.size());
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view word = in_text ? std::string_view() : word_at(text.substr(i));
    if (!word.empty()) {
      quoted.append("\"").append(word).append("\"");
      i += word.size() - 1;
      continue;
    }
    quoted += text[i];
    if (in_text && text[i] == '\\' && i + 1 < text.size()) {
      quoted += text[++i];
    } else if (text[i] == '"') {
      in_text = !in_text;
    }
  }
  return quoted;
}

}  // namespace

nlohmann::ordered_json parse_lenient_json(std::string_view text, const std::string& subject) {
  using Json = nlohmann::ordered_json;
  constexpr int kDeepest = 100;  // printing is recursive
  const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest) throw DataError(fmt::format("{} is nested too deeply.", subject));
    return true;
  };
  try {
    return Json::parse(with_quoted_words(text), limit_depth);
  } catch (const Json::parse_error& error) {
    if (const auto what = placeholder_of(text); !what.empty()) {
      throw DataError(fmt::format("{} is {}.", subject, what));
    }
    throw DataError(fmt::format("{} is not valid JSON at byte {}.", subject, error.byte));
  } catch (const Json::exception&) {
    throw DataError(fmt::format("{} has a number that is too large.", subject));
  }
}

std::string print_lenient_json(const nlohmann::ordered_json& json) {
  std::string text = json.dump(4);
  for (const std::string_view word : kWords) {
    const std::string quoted = fmt::format("\"{}\"", word);
    for (std::size_t at = text.find(quoted); at != std::string::npos; at = text.find(quoted, at)) {
      text.replace(at, quoted.size(), word);
    }
  }
  return text + "\n";
}

}  // namespace myxtts
