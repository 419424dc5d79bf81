// SPDX-License-Identifier: Apache-2.0
#include "device/machine.h"

#include <sched.h>
#include <sys/statvfs.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "device/nvml.h"

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

namespace {

namespace fs = std::filesystem;

std::optional<std::int64_t> to_number(const std::string& text) {
  std::int64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc{}) return std::nullopt;  // also "max"
  return number;
}

// Empty when the file cannot be read.
std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The number after `key` in a file of "key value" or "key: value" lines.
std::optional<std::int64_t> keyed_number(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::string value;
    words >> name >> value;
    if (name == key || name == key + ":") return to_number(value);
  }
  return std::nullopt;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  return to_number(first_line(file));
}

// This process's place in the hierarchy that has `controller`: "" is version 2's single one.
std::string group_path(const fs::path& root, const std::string& controller) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // hierarchy-id ":" comma-separated controllers ":" path
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find("," + controller + ",") != std::string::npos) {
      return line.substr(second + 1);
    }
  }
  return "/";
}

// The folders from this process's group up to the mount. Inside a container the path in
// /proc/self/cgroup may be the host's: folders that are not there are passed over.
std::vector<fs::path> group_folders(const fs::path& root, const std::string& controller) {
  const fs::path mount = root / "sys/fs/cgroup" / controller;
  std::vector<fs::path> folders;
  fs::path relative = fs::path(group_path(root, controller)).relative_path();
  for (; !relative.empty(); relative = relative.parent_path()) {
    if (fs::is_directory(mount / relative)) folders.push_back(mount / relative);
  }
  folders.push_back(mount);
  return folders;
}

std::optional<double> quota_v2(const fs::path& folder) {
  std::istringstream words(first_line(folder / "cpu.max"));
  std::string quota;
  std::string period;
  words >> quota >> period;
  const auto allowed = to_number(quota);
  const auto of = to_number(period);
  if (!allowed || !of || *of <= 0) return std::nullopt;
  return static_cast<double>(*allowed) / static_cast<double>(*of);
}

std::optional<double> quota_v1(const fs::path& folder) {
  const auto allowed = number_in(folder / "cpu.cfs_quota_us");
  const auto of = number_in(folder / "cpu.cfs_period_us");
  if (!allowed || !of || *allowed <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*allowed) / static_cast<double>(*of);
}

// `cache_key` is one of memory.stat.
std::optional<MemoryInfo> limit_in(const fs::path& folder, const char* limit_file,
                                   const char* used_file, const char* cache_key) {
  const auto limit = number_in(folder / limit_file);
  // Version 1 says "no limit" with a number near the largest there is.
  if (!limit || *limit > (std::int64_t{1} << 60)) return std::nullopt;
  const auto used = number_in(folder / used_file).value_or(0);
  const auto cache = keyed_number(folder / "memory.stat", cache_key).value_or(0);
  return MemoryInfo{.total_bytes = *limit,
                    .available_bytes = *limit - std::max<std::int64_t>(0, used - cache),
                    .limited_by_container = true};
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& root) {
  std::optional<double> tightest;
  const auto consider = [&tightest](std::optional<double> quota) {
    if (quota && (!tightest || *quota < *tightest)) tightest = quota;
  };
  for (const auto& folder : group_folders(root, "")) consider(quota_v2(folder));
  for (const auto& folder : group_folders(root, "cpu")) consider(quota_v1(folder));
  return tightest;
}

std::optional<MemoryInfo> memory_limit(const fs::path& root) {
  std::optional<MemoryInfo> tightest;
  const auto consider = [&](std::optional<MemoryInfo> limit) {
    if (!limit) return;
    if (!tightest || limit->available_bytes < tightest->available_bytes) tightest = limit;
  };
  for (const auto& folder : group_folders(root, "")) {
    consider(limit_in(folder, "memory.max", "memory.current", "inactive_file"));
  }
  for (const auto& folder : group_folders(root, "memory")) {
    consider(
        limit_in(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"));
  }
  return tightest;
}

namespace {

// The processors this process may run on. The mask grows until it holds them all: 1,024 processors
// are not the most there are.
std::vector<int> allowed_processors() {
  for (int capacity = 1024; capacity <= 1 << 20; capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(capacity));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
    const bool answered = sched_getaffinity(0, bytes, set) == 0;
    std::vector<int> allowed;
    for (int cpu = 0; answered && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) allowed.push_back(cpu);
    }
    CPU_FREE(set);
    if (answered) return allowed;
    if (errno != EINVAL) break;
  }
  return {0};
}

std::string processor_model(const fs::path& cpuinfo) {
  std::ifstream file(cpuinfo);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

// Two hyper-threads of a core name each other in the same list.
int count_physical(const fs::path& root, const std::vector<int>& processors) {
  std::set<std::string> cores;
  for (const int cpu : processors) {
    const std::string number = std::to_string(cpu);
    const std::string siblings = first_line(root / "sys/devices/system/cpu" / ("cpu" + number) /
                                            "topology/thread_siblings_list");
    cores.insert(siblings.empty() ? number : siblings);
  }
  return static_cast<int>(cores.size());
}

}  // namespace

SystemProbe::SystemProbe(fs::path root, std::string nvml_library)
    : root_(std::move(root)), nvml_library_(nvml_library_name(std::move(nvml_library))) {}

CpuInfo SystemProbe::cpu() {
  const std::vector<int> allowed = allowed_processors();
  return {.model = processor_model(root_ / "proc/cpuinfo"),
          .logical_cores = static_cast<int>(allowed.size()),
          .physical_cores = count_physical(root_, allowed),
          .quota = cpu_quota(root_).value_or(0.0)};
}

MemoryInfo SystemProbe::memory() {
  const fs::path meminfo = root_ / "proc/meminfo";
  MemoryInfo memory;
  memory.total_bytes = keyed_number(meminfo, "MemTotal").value_or(0) * 1024;
  memory.available_bytes = keyed_number(meminfo, "MemAvailable").value_or(0) * 1024;
  const auto limit = memory_limit(root_);
  if (limit && limit->total_bytes < memory.total_bytes) {
    memory.total_bytes = limit->total_bytes;
    const auto room = std::max<std::int64_t>(0, limit->available_bytes);
    memory.available_bytes = std::min(memory.available_bytes, room);
    memory.limited_by_container = true;
  }
  return memory;
}

GpuInventory SystemProbe::gpus() {
  GpuInventory inventory = discover_gpus(nvml_library_);
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    inventory.visible_devices = visible;
  }
  if (const char* order = std::getenv("CUDA_DEVICE_ORDER")) inventory.device_order = order;
  return inventory;
}

DiskInfo SystemProbe::disk(const fs::path& folder) {
  DiskInfo disk{.folder = folder};
  struct statvfs answer {};
  if (statvfs(folder.c_str(), &answer) != 0) {
    disk.fault = std::strerror(errno);
    return disk;
  }
  const auto block = static_cast<std::int64_t>(answer.f_frsize);
  disk.total_bytes = static_cast<std::int64_t>(answer.f_blocks) * block;
  disk.free_bytes = static_cast<std::int64_t>(answer.f_bavail) * block;
  return disk;
}

}  // namespace myxtts
