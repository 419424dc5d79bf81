// SPDX-License-Identifier: Apache-2.0
#include "device/machine.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace myxtts {
namespace {

std::string name_and_memory(const GpuInfo& gpu) {
  const std::string name = gpu.name.empty() ? "GPU without a name" : gpu.name;
  if (!gpu.memory_total_bytes) return name;
  return fmt::format("{} ({:.0f} GB)", name, static_cast<double>(*gpu.memory_total_bytes) / 1e9);
}

std::string list_gpus(const std::vector<GpuInfo>& gpus) {
  std::vector<std::pair<std::string, int>> kinds;  // in order of appearance
  for (const GpuInfo& gpu : gpus) {
    const std::string kind = name_and_memory(gpu);
    const auto known = std::find_if(kinds.begin(), kinds.end(),
                                    [&kind](const auto& seen) { return seen.first == kind; });
    if (known == kinds.end()) {
      kinds.emplace_back(kind, 1);
    } else {
      ++known->second;
    }
  }
  std::string text;
  for (const auto& [kind, count] : kinds) {
    if (!text.empty()) text += " + ";
    text += count == 1 ? kind : fmt::format("{} × {}", count, kind);
  }
  return text;
}

}  // namespace

int CpuInfo::usable_cores() const {
  const int by_quota = quota > 0.0 ? static_cast<int>(std::ceil(quota)) : logical_cores;
  return std::max(1, std::min(logical_cores, by_quota));
}

std::string short_name(const GpuLink& link) {
  switch (link.path) {
    case GpuPath::NvLink:
      return fmt::format("NV{}", link.nvlinks);
    case GpuPath::SameBoard:
      return "PSB";
    case GpuPath::Pix:
      return "PIX";
    case GpuPath::Pxb:
      return "PXB";
    case GpuPath::Phb:
      return "PHB";
    case GpuPath::Node:
      return "NODE";
    case GpuPath::Sys:
      return "SYS";
    case GpuPath::Unknown:
      return "?";
  }
  return "?";
}

Machine discover_machine(MachineProbe& probe) {
  return {.cpu = probe.cpu(), .memory = probe.memory(), .gpus = probe.gpus()};
}

std::string describe_gpus(const GpuInventory& inventory) {
  if (!inventory.driver_found) return "none (" + inventory.driver_fault + ")";
  std::string driver = "driver " + inventory.driver_version;
  if (inventory.cuda_version > 0) {
    driver += fmt::format(", CUDA {}.{}", inventory.cuda_version / 1000,
                          inventory.cuda_version % 1000 / 10);
  }
  if (inventory.gpus.empty()) return fmt::format("none ({})", driver);
  return fmt::format("{}, {}", list_gpus(inventory.gpus), driver);
}

}  // namespace myxtts
