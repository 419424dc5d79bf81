// SPDX-License-Identifier: Apache-2.0
#include "device/system_probe.h"

#include <sched.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "device/control_group.h"
#include "device/gpu_discovery.h"
#include "device/nvml.h"

namespace myxtts {
namespace {

namespace fs = std::filesystem;

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
  if (limit && limit->limit_bytes < memory.total_bytes) {
    memory.total_bytes = limit->limit_bytes;
    const auto room = std::max<std::int64_t>(0, limit->limit_bytes - limit->used_bytes);
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
