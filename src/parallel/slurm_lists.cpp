// SPDX-License-Identifier: Apache-2.0
#include "parallel/slurm_lists.h"

#include <charconv>

namespace myxtts {
namespace {

// A number at the beginning, which is taken away.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || number < 1) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view words) {
  if (!text.starts_with(words)) return false;
  text.remove_prefix(words.size());
  return true;
}

}  // namespace

std::string first_host(std::string_view hosts) {
  std::string host;
  bool in_brackets = false;
  bool is_first = true;  // of the numbers in the brackets
  for (const char c : hosts) {
    if (c == '[') {
      in_brackets = is_first = true;
    } else if (c == ']') {
      in_brackets = false;
    } else if (in_brackets) {
      is_first = is_first && c != '-' && c != ',';
      if (is_first) host += c;
    } else if (c == ',') {
      break;
    } else {
      host += c;
    }
  }
  return host;
}

std::optional<int> tasks_on_node(std::string_view list, int node) {
  while (!list.empty()) {
    const auto tasks = take_number(list);
    if (!tasks) return std::nullopt;
    int nodes = 1;
    if (take(list, "(x")) {
      const auto times = take_number(list);
      if (!times || !take(list, ")")) return std::nullopt;
      nodes = *times;
    }
    if (node < nodes) return tasks;
    node -= nodes;
    if (!take(list, ",")) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace myxtts
