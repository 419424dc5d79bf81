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

using Value = nlohmann::json;
using Setter = std::function<void(const Value& value, const std::string& key)>;
using Setters = std::map<std::string, Setter, std::less<>>;

constexpr std::size_t kLargestClusterFile = 1 << 20;

[[noreturn]] void refuse(const std::string& key, const Value& value, std::string_view allowed) {
  throw ConfigError(
      fmt::format("The cluster's {} is {}; it must be {}.", key, value.dump(), allowed));
}

// Calls the setter of each key.
void apply(const Value& object, const std::string& prefix, const Setters& setters) {
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

template <typename Number>
Setter number_into(Number& target, double least) {
  return [&target, least](const Value& value, const std::string& key) {
    if (!value.is_number() || value.get<double>() < least) {
      refuse(key, value, fmt::format("a number from {:g} on", least));
    }
    target = value.get<double>();
  };
}

Setter above_zero_into(double& target) {
  return [&target](const Value& value, const std::string& key) {
    if (!value.is_number() || value.get<double>() <= 0) refuse(key, value, "a number above 0");
    target = value.get<double>();
  };
}

template <typename Integer, typename Target>
Setter count_into(Target& target, Integer most) {
  return [&target, most](const Value& value, const std::string& key) {
    const bool whole = value.is_number_integer();
    if (!whole || value.get<double>() < 1 || value.get<double>() > static_cast<double>(most)) {
      refuse(key, value, fmt::format("a whole number from 1 to {}", most));
    }
    target = value.get<Integer>();
  };
}

Setter text_into(std::string& target) {
  return [&target](const Value& value, const std::string& key) {
    if (!value.is_string()) refuse(key, value, "a text");
    target = value.get<std::string>();
  };
}

// What is written down was measured, or the person knows better than our assumption.
void read_link(const Value& value, const std::string& prefix, RankLink& link) {
  link.measured = true;
  apply(value, prefix,
        {{"name", text_into(link.name)},
         {"gigabytes_per_second", above_zero_into(link.gigabytes_per_second)},
         {"latency_us", number_into(link.latency_us, 0)},
         {"core_ms_per_gigabyte", number_into(link.core_ms_per_gigabyte, 0)}});
}

MeasuredStep read_step(const Value& value, const std::string& prefix) {
  MeasuredStep step;
  apply(value, prefix,
        {{"batch", count_into(step.batch, std::int64_t{4096})},
         {"ms", above_zero_into(step.ms)},
         {"update_ms", number_into(step.update_ms, 0)},
         {"core_ms", number_into(step.core_ms, 0)},
         {"spread", number_into(step.spread, 0)}});
  if (step.ms <= 0) throw ConfigError("The cluster's step has no ms: milliseconds of one rank's.");
  if (step.update_ms >= step.ms) {
    throw ConfigError(fmt::format(
        "The cluster's step.update_ms is {:g}; it must be less than step.ms, {:g}, of which it is "
        "a part.",
        step.update_ms, step.ms));
  }
  return step;
}

void read_device(const Value& value, const std::string& key, Cluster& cluster) {
  std::string device;
  text_into(device)(value, key);
  if (device != "cpu" && device != "gpu") refuse(key, value, "\"cpu\" or \"gpu\"");
  cluster.model_on_cores = device == "cpu";
  cluster.hierarchical = !cluster.model_on_cores;  // Gloo has one ring
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

Cluster parse_cluster(std::string_view text, const Cluster& known) {
  Cluster cluster = known;
  const auto json = parse_shallow_json<Value>(text);
  if (json.is_discarded()) throw ConfigError("The cluster's file is no JSON.");
  apply(
      json, "",
      {{"device", [&](const Value& v, const std::string& key) { read_device(v, key, cluster); }},
       {"hosts", count_into(cluster.hosts, 4096)},
       {"ranks_per_host", count_into(cluster.ranks_per_host, 1024)},
       {"cores", above_zero_into(cluster.cores)},
       {"crowding", number_into(cluster.crowding, 1)},
       {"inside",
        [&](const Value& v, const std::string& key) { read_link(v, key, cluster.inside); }},
       {"between",
        [&](const Value& v, const std::string& key) { read_link(v, key, cluster.between); }},
       {"step", [&](const Value& v, const std::string& key) { cluster.step = read_step(v, key); }},
       {"parameters", count_into(cluster.parameters, std::int64_t{1} << 40)}});
  return cluster;
}

Cluster read_cluster_file(const std::filesystem::path& path, const Cluster& known) {
  return parse_cluster(read_text_file(path, "file of the cluster", kLargestClusterFile), known);
}

}  // namespace myxtts
