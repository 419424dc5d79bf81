// SPDX-License-Identifier: Apache-2.0
#include "diagnose/scaling/cluster_file.h"

#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "base/shallow_json.h"

namespace myxtts {
namespace {

using Json = nlohmann::json;
using Setter = std::function<void(const Json& value, const std::string& key)>;
using Setters = std::map<std::string, Setter, std::less<>>;

constexpr std::size_t kLargestFile = 1 << 20;

[[noreturn]] void refuse(const std::string& key, const Json& value, std::string_view allowed) {
  throw ConfigError(
      fmt::format("The cluster's {} is {}; it must be {}.", key, value.dump(), allowed));
}

// Calls the setter of each key.
void apply(const Json& object, const std::string& prefix, const Setters& setters) {
  if (!object.is_object()) refuse(prefix.empty() ? "file" : prefix, object, "an object");
  for (const auto& [name, value] : object.items()) {
    const std::string key = prefix.empty() ? name : fmt::format("{}.{}", prefix, name);
    const auto found = setters.find(name);
    if (found == setters.end()) {
      std::vector<std::string> names;
      for (const auto& setter : setters) names.push_back(setter.first);
      throw ConfigError(
          fmt::format("The cluster has no {}; it knows {}.", key, fmt::join(names, ", ")));
    }
    found->second(value, key);
  }
}

double number(const Json& value, const std::string& key, double least) {
  if (!value.is_number() || value.get<double>() < least) {
    refuse(key, value, fmt::format("a number from {:g} on", least));
  }
  return value.get<double>();
}

double above_zero(const Json& value, const std::string& key) {
  if (!value.is_number() || value.get<double>() <= 0) refuse(key, value, "a number above 0");
  return value.get<double>();
}

template <typename Integer>
Integer count(const Json& value, const std::string& key, Integer most) {
  const bool whole = value.is_number_integer();
  if (!whole || value.get<double>() < 1 || value.get<double>() > static_cast<double>(most)) {
    refuse(key, value, fmt::format("a whole number from 1 to {}", most));
  }
  return value.get<Integer>();
}

std::string words(const Json& value, const std::string& key) {
  if (!value.is_string()) refuse(key, value, "a text");
  return value.get<std::string>();
}

// What is written down was measured, or the person knows better than our assumption.
void read_link(const Json& value, const std::string& prefix, RankLink& link) {
  link.measured = true;
  apply(value, prefix,
        {{"name", [&](const Json& v, const std::string& key) { link.name = words(v, key); }},
         {"gigabytes_per_second",
          [&](const Json& v, const std::string& key) {
            link.gigabytes_per_second = above_zero(v, key);
          }},
         {"latency_us",
          [&](const Json& v, const std::string& key) { link.latency_us = number(v, key, 0); }},
         {"core_ms_per_gigabyte", [&](const Json& v, const std::string& key) {
            link.core_ms_per_gigabyte = number(v, key, 0);
          }}});
}

MeasuredStep read_step(const Json& value, const std::string& prefix) {
  MeasuredStep step;
  apply(value, prefix,
        {{"batch", [&](const Json& v,
                       const std::string& key) { step.batch = count(v, key, std::int64_t{4096}); }},
         {"ms", [&](const Json& v, const std::string& key) { step.ms = above_zero(v, key); }},
         {"update_ms",
          [&](const Json& v, const std::string& key) { step.update_ms = number(v, key, 0); }},
         {"core_ms",
          [&](const Json& v, const std::string& key) { step.core_ms = number(v, key, 0); }},
         {"spread",
          [&](const Json& v, const std::string& key) { step.spread = number(v, key, 0); }}});
  if (step.ms <= 0) throw ConfigError("The cluster's step has no ms: milliseconds of one rank's.");
  if (step.update_ms >= step.ms) {
    throw ConfigError(fmt::format(
        "The cluster's step.update_ms is {:g}; it must be less than step.ms, {:g}, of which it is "
        "a part.",
        step.update_ms, step.ms));
  }
  return step;
}

void read_device(const Json& value, const std::string& key, Cluster& cluster) {
  const std::string device = words(value, key);
  if (device != "cpu" && device != "gpu") refuse(key, value, "\"cpu\" or \"gpu\"");
  cluster.model_on_cores = device == "cpu";
  cluster.hierarchical = !cluster.model_on_cores;  // Gloo has one ring
}

}  // namespace

ClusterFacts parse_cluster(std::string_view text, const Cluster& known) {
  ClusterFacts facts{.cluster = known};
  Cluster& cluster = facts.cluster;
  const auto json = parse_shallow_json<Json>(text);
  if (json.is_discarded()) throw ConfigError("The cluster's file is no JSON.");
  apply(json, "",
        {{"device", [&](const Json& v, const std::string& key) { read_device(v, key, cluster); }},
         {"hosts",
          [&](const Json& v, const std::string& key) { cluster.hosts = count(v, key, 4096); }},
         {"ranks_per_host",
          [&](const Json& v, const std::string& key) {
            cluster.ranks_per_host = count(v, key, 1024);
          }},
         {"cores",
          [&](const Json& v, const std::string& key) { cluster.cores = above_zero(v, key); }},
         {"crowding",
          [&](const Json& v, const std::string& key) { cluster.crowding = number(v, key, 1); }},
         {"inside",
          [&](const Json& v, const std::string& key) { read_link(v, key, cluster.inside); }},
         {"between",
          [&](const Json& v, const std::string& key) { read_link(v, key, cluster.between); }},
         {"step", [&](const Json& v, const std::string& key) { facts.step = read_step(v, key); }},
         {"parameters", [&](const Json& v, const std::string& key) {
            facts.parameters = count(v, key, std::int64_t{1} << 40);
          }}});
  return facts;
}

ClusterFacts read_cluster_file(const std::filesystem::path& path, const Cluster& known) {
  return parse_cluster(read_text_file(path, "The cluster's file", kLargestFile), known);
}

}  // namespace myxtts
