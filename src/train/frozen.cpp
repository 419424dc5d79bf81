// SPDX-License-Identifier: Apache-2.0
#include "train/frozen.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/message_text.h"

namespace myxtts {
namespace {

// Of all names and of what they begin with: gpt.text_embedding.weight, gpt.text_embedding, gpt.
std::vector<std::string> names_and_beginnings(std::span<const std::string> names) {
  std::set<std::string> all;
  for (const auto& name : names) {
    all.insert(name);
    for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      all.insert(name.substr(0, dot));
    }
  }
  return {all.begin(), all.end()};
}

ConfigError fits_nothing(std::span<const std::string> names, const std::string& pattern) {
  const bool with_star = pattern.ends_with(".*");
  const auto nearest = nearest_name(with_star ? pattern.substr(0, pattern.size() - 2) : pattern,
                                    names_and_beginnings(names));
  const bool whole = nearest && std::ranges::find(names, *nearest) != names.end();
  const std::string advice =
      nearest ? fmt::format("Did you mean {}{}?", *nearest, whole ? "" : ".*")
              : fmt::format("Their names are like {}; * stands for any characters.", names.front());
  return ConfigError(
      fmt::format("--freeze {} fits no parameter of this model. {}", pattern, advice));
}

}  // namespace

bool fits_pattern(std::string_view name, std::string_view pattern) {
  std::size_t n = 0;
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;  // the last one seen
  std::size_t after_star = 0;                 // where its characters end, so far
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::set<std::string, std::less<>> frozen_names(std::span<const std::string> names,
                                                std::span<const std::string> patterns) {
  std::set<std::string, std::less<>> frozen;
  for (const auto& pattern : patterns) {
    bool fits_any = false;
    for (const auto& name : names) {
      if (!fits_pattern(name, pattern)) continue;
      fits_any = true;
      frozen.insert(name);
    }
    if (!fits_any) throw fits_nothing(names, pattern);
  }
  if (frozen.size() == names.size()) {
    throw ConfigError("--freeze leaves nothing to train. Name fewer parameters.");
  }
  return frozen;
}

}  // namespace myxtts
