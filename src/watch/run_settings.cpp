// SPDX-License-Identifier: Apache-2.0
#include "watch/run_settings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace myxtts {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \r") + 1 - begin);
}

}  // namespace

std::vector<KeptSetting> parse_kept_settings(std::string_view yaml) {
  std::vector<KeptSetting> settings;
  std::vector<std::string> sections;  // by their indentation, two spaces each
  while (!yaml.empty()) {
    const auto end = std::min(yaml.find('\n'), yaml.size());
    std::string_view line = yaml.substr(0, end);
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
    const auto indent = std::min(line.find_first_not_of(' '), line.size()) / 2;
    const auto comment = line.rfind("  # ");
    const std::string_view origin =
        comment == std::string_view::npos ? "" : trimmed(line.substr(comment + 4));
    const std::string_view content = trimmed(line.substr(0, std::min(comment, line.size())));
    const auto colon = content.find(':');
    if (content.starts_with('#') || colon == std::string_view::npos) continue;
    sections.resize(std::min(sections.size(), indent));
    std::string key;
    for (const auto& section : sections) key += section + ".";
    key += content.substr(0, colon);
    const std::string_view value = trimmed(content.substr(colon + 1));
    if (value.empty()) {
      sections.emplace_back(content.substr(0, colon));
    } else {
      settings.push_back({key, std::string(value), std::string(origin)});
    }
  }
  return settings;
}

nlohmann::json json_of(const std::vector<KeptSetting>& settings) {
  auto list = nlohmann::json::array();
  for (const KeptSetting& each : settings) {
    list.push_back(
        {{"key", each.key},
         {"value", each.value},
         {"origin", each.origin.empty() ? nlohmann::json() : nlohmann::json(each.origin)},
         {"is_default", each.origin.starts_with("default")}});
  }
  return list;
}

nlohmann::json differences_of(const std::vector<std::vector<KeptSetting>>& runs) {
  std::vector<std::string> keys;  // in the order of the files
  std::set<std::string> known;
  std::vector<std::map<std::string, const KeptSetting*>> by_key(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const KeptSetting& each : runs[i]) {
      if (known.insert(each.key).second) keys.push_back(each.key);
      by_key[i][each.key] = &each;
    }
  }
  auto differences = nlohmann::json::array();
  std::int64_t same = 0;
  for (const std::string& key : keys) {
    auto values = nlohmann::json::array();
    auto origins = nlohmann::json::array();
    for (const auto& settings : by_key) {
      const auto found = settings.find(key);
      const bool has = found != settings.end();
      values.push_back(has ? nlohmann::json(found->second->value) : nlohmann::json());
      origins.push_back(has && !found->second->origin.empty()
                            ? nlohmann::json(found->second->origin)
                            : nlohmann::json());
    }
    const bool is_same =
        std::ranges::all_of(values, [&](const auto& value) { return value == values.front(); });
    if (is_same) {
      ++same;
    } else {
      differences.push_back({{"key", key}, {"values", values}, {"origins", origins}});
    }
  }
  return {{"differences", std::move(differences)}, {"same", same}};
}

}  // namespace myxtts
