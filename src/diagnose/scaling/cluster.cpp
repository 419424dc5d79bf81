// SPDX-License-Identifier: Apache-2.0
#include "diagnose/scaling/cluster.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

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

}  // namespace myxtts
