// SPDX-License-Identifier: Apache-2.0
#include "diagnose/scaling/cluster.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "config/json.h"

namespace myxtts {
namespace {

constexpr double kLaneOfNvlink = 25.0;  // GB/s each way, since the second generation

// From the fastest to the slowest: of two pairs the one that a ring waits for.
bool slower(const GpuLink& a, const GpuLink& b) {
  if (a.path != b.path) return a.path > b.path;
  return a.nvlinks < b.nvlinks;
}

}  // namespace

RankLink nvlink(int links) {
  return {.name = fmt::format("NVLink (NV{})", links),
          .gigabytes_per_second = 0.75 * kLaneOfNvlink * links,
          .latency_us = 3};
}

RankLink pci_express() {
  return {.name = "PCIe 4.0 x16", .gigabytes_per_second = 16, .latency_us = 6};
}

RankLink network(double gigabits_per_second) {
  return {.name = fmt::format("{:g} Gbit/s", gigabits_per_second),
          .gigabytes_per_second = 0.8 * gigabits_per_second / 8,
          .latency_us = 15};
}

Cluster cluster_of(const Machine& machine) {
  Cluster cluster{.ranks_per_host = std::max(1, static_cast<int>(machine.gpus.gpus.size())),
                  .inside = pci_express(),
                  .between = network(100),
                  .cores = static_cast<double>(machine.cpu.usable_cores())};
  const auto& links = machine.gpus.links;
  const auto slowest = std::ranges::max_element(
      links, [](const GpuLink& a, const GpuLink& b) { return slower(b, a); });
  if (slowest != links.end() && slowest->path == GpuPath::NvLink) {
    cluster.inside = nvlink(slowest->nvlinks);
  }
  return cluster;
}

Cluster with_ranks(const Cluster& cluster, int ranks) {
  Cluster part = cluster;
  part.ranks_per_host = std::min(ranks, cluster.ranks_per_host);
  part.hosts = ranks / part.ranks_per_host;
  MYXTTS_CHECK(part.ranks() == ranks, "{} ranks do not fill hosts of {}", ranks,
               cluster.ranks_per_host);
  return part;
}

namespace {

using PlainJson = nlohmann::json;
using Setter = std::function<void(const PlainJson& value, const std::string& key)>;
using Setters = std::map<std::string, Setter, std::less<>>;

constexpr std::size_t kLargestFile = 1 << 20;

[[noreturn]] void refuse(const std::string& key, const PlainJson& value, std::string_view allowed) {
  throw ConfigError(
      fmt::format("The cluster's {} is {}; it must be {}.", key, value.dump(), allowed));
}

// Calls the setter of each key.
void apply(const PlainJson& object, const std::string& prefix, const Setters& setters) {
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

double number(const PlainJson& value, const std::string& key, double least) {
  if (!value.is_number() || value.get<double>() < least) {
    refuse(key, value, fmt::format("a number from {:g} on", least));
  }
  return value.get<double>();
}

double above_zero(const PlainJson& value, const std::string& key) {
  if (!value.is_number() || value.get<double>() <= 0) refuse(key, value, "a number above 0");
  return value.get<double>();
}

template <typename Integer>
Integer count(const PlainJson& value, const std::string& key, Integer most) {
  const bool whole = value.is_number_integer();
  if (!whole || value.get<double>() < 1 || value.get<double>() > static_cast<double>(most)) {
    refuse(key, value, fmt::format("a whole number from 1 to {}", most));
  }
  return value.get<Integer>();
}

std::string words(const PlainJson& value, const std::string& key) {
  if (!value.is_string()) refuse(key, value, "a text");
  return value.get<std::string>();
}

// What is written down was measured, or the person knows better than our assumption.
void read_link(const PlainJson& value, const std::string& prefix, RankLink& link) {
  link.measured = true;
  apply(value, prefix,
        {{"name", [&](const PlainJson& v, const std::string& key) { link.name = words(v, key); }},
         {"gigabytes_per_second",
          [&](const PlainJson& v, const std::string& key) {
            link.gigabytes_per_second = above_zero(v, key);
          }},
         {"latency_us",
          [&](const PlainJson& v, const std::string& key) { link.latency_us = number(v, key, 0); }},
         {"core_ms_per_gigabyte", [&](const PlainJson& v, const std::string& key) {
            link.core_ms_per_gigabyte = number(v, key, 0);
          }}});
}

MeasuredStep read_step(const PlainJson& value, const std::string& prefix) {
  MeasuredStep step;
  apply(value, prefix,
        {{"batch", [&](const PlainJson& v,
                       const std::string& key) { step.batch = count(v, key, std::int64_t{4096}); }},
         {"ms", [&](const PlainJson& v, const std::string& key) { step.ms = above_zero(v, key); }},
         {"update_ms",
          [&](const PlainJson& v, const std::string& key) { step.update_ms = number(v, key, 0); }},
         {"core_ms",
          [&](const PlainJson& v, const std::string& key) { step.core_ms = number(v, key, 0); }},
         {"spread",
          [&](const PlainJson& v, const std::string& key) { step.spread = number(v, key, 0); }}});
  if (step.ms <= 0) throw ConfigError("The cluster's step has no ms: milliseconds of one rank's.");
  if (step.update_ms >= step.ms) {
    throw ConfigError(fmt::format(
        "The cluster's step.update_ms is {:g}; it must be less than step.ms, {:g}, of which it is "
        "a part.",
        step.update_ms, step.ms));
  }
  return step;
}

void read_device(const PlainJson& value, const std::string& key, Cluster& cluster) {
  const std::string device = words(value, key);
  if (device != "cpu" && device != "gpu") refuse(key, value, "\"cpu\" or \"gpu\"");
  cluster.model_on_cores = device == "cpu";
  cluster.hierarchical = !cluster.model_on_cores;  // Gloo has one ring
}

}  // namespace

ClusterFacts parse_cluster(std::string_view text, const Cluster& known) {
  ClusterFacts facts{.cluster = known};
  Cluster& cluster = facts.cluster;
  const auto json = parse_shallow_json<PlainJson>(text);
  if (json.is_discarded()) throw ConfigError("The cluster's file is no JSON.");
  apply(json, "",
        {{"device",
          [&](const PlainJson& v, const std::string& key) { read_device(v, key, cluster); }},
         {"hosts",
          [&](const PlainJson& v, const std::string& key) { cluster.hosts = count(v, key, 4096); }},
         {"ranks_per_host",
          [&](const PlainJson& v, const std::string& key) {
            cluster.ranks_per_host = count(v, key, 1024);
          }},
         {"cores",
          [&](const PlainJson& v, const std::string& key) { cluster.cores = above_zero(v, key); }},
         {"crowding", [&](const PlainJson& v,
                          const std::string& key) { cluster.crowding = number(v, key, 1); }},
         {"inside",
          [&](const PlainJson& v, const std::string& key) { read_link(v, key, cluster.inside); }},
         {"between",
          [&](const PlainJson& v, const std::string& key) { read_link(v, key, cluster.between); }},
         {"step",
          [&](const PlainJson& v, const std::string& key) { facts.step = read_step(v, key); }},
         {"parameters", [&](const PlainJson& v, const std::string& key) {
            facts.parameters = count(v, key, std::int64_t{1} << 40);
          }}});
  return facts;
}

ClusterFacts read_cluster_file(const std::filesystem::path& path, const Cluster& known) {
  return parse_cluster(read_text_file(path, "The cluster's file", kLargestFile), known);
}

}  // namespace myxtts
