// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/gpu_rows.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "device/cuda_plugin.h"
#include "device/plan/gpu_choice.h"

namespace myxtts {
namespace {

constexpr const char* kGpuUse = "every command on a GPU";
constexpr int kLeastCapability = 75;  // Turing

std::string cuda_text(int version) {
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

// 580 of "580.65.06"; 0 when it does not start with a number.
int major_of(const std::string& version) {
  int number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

// Their places in the list of visible devices. Where that cannot be followed, which a row of the
// checklist says, nvidia-smi's.
std::vector<GpuInfo> listed_gpus(const GpuInventory& inventory) {
  try {
    return visible_gpus(inventory);
  } catch (const DeviceError&) {
    return inventory.gpus;
  }
}

}  // namespace

std::vector<NumberedGpu> numbered_gpus(const Findings& findings) {
  const GpuInventory& inventory = findings.machine.gpus;
  const std::vector<GpuInfo> listed = listed_gpus(inventory);
  std::vector<NumberedGpu> gpus;
  for (const GpuInfo& gpu : inventory.gpus) {
    NumberedGpu numbered{.info = gpu, .number = std::nullopt, .tested = nullptr};
    const auto place = std::ranges::find(listed, gpu.index, &GpuInfo::index);
    if (place != listed.end()) numbered.number = static_cast<int>(place - listed.begin());
    for (const TestedGpu& tested : findings.cuda.tested) {
      const bool is_it = short_bus_id(tested.pci_bus_id) == short_bus_id(gpu.pci_bus_id);
      if (is_it) numbered.tested = &tested;
    }
    gpus.push_back(numbered);
  }
  const int last = static_cast<int>(gpus.size());  // those that are hidden
  std::ranges::stable_sort(gpus, {},
                           [last](const NumberedGpu& gpu) { return gpu.number.value_or(last); });
  return gpus;
}

std::string usable_gpus(const std::vector<NumberedGpu>& gpus) {
  std::vector<std::string> names;
  for (const NumberedGpu& gpu : gpus) {
    if (gpu.is_usable()) names.push_back(gpu.name());
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

namespace {

// A plugin that waits for a driver is not what is missing.
Check check_plugin(const CudaFacts& cuda, const std::vector<NumberedGpu>& gpus) {
  Check check{.id = "cuda_plugin", .name = "CUDA plugin", .needed_by = kGpuUse};
  if (!cuda.reason.empty()) {
    check.verdict = cuda.plugin_present ? Verdict::Warn : Verdict::Fail;
    check.found = (cuda.plugin_present ? "built, but not opened: " : "") + cuda.reason;
    check.remedy = cuda.remedy;
    return check;
  }
  check.found = cuda_text(cuda.runtime_version);
  const bool any = std::ranges::any_of(gpus, &NumberedGpu::is_usable);
  if (any) check.found += "; our kernels run on " + usable_gpus(gpus);
  const bool sees_all = std::ssize(cuda.tested) == cuda.libtorch_devices;
  if (cuda.faults.empty() && sees_all && any) return check;
  check.verdict = Verdict::Warn;
  if (!sees_all) check.found += "; LibTorch sees " + counted(cuda.libtorch_devices, "GPU");
  for (const std::string& fault : cuda.faults) check.found += "; " + fault;
  check.remedy = "See the rows of the driver and the GPUs";
  return check;
}

Check check_driver(const GpuInventory& gpus) {
  Check check{.id = "driver", .name = "NVIDIA driver", .needed_by = kGpuUse};
  if (!gpus.driver_found) {
    check.verdict = Verdict::Fail;
    check.found = "none: " + gpus.driver_fault;
    check.remedy =
        fmt::format("For a GPU install NVIDIA's driver, version {} or newer", kMinimumDriver);
    return check;
  }
  check.found = gpus.driver_version;
  if (gpus.cuda_version > 0)
    check.found += fmt::format(" (up to {})", cuda_text(gpus.cuda_version));
  for (const std::string& fault : gpus.faults) {
    check.verdict = Verdict::Warn;
    check.found += "; " + fault;
  }
  const int major = major_of(gpus.driver_version);
  if (major > 0 && major < kMinimumDriver) {
    check.verdict = Verdict::Fail;
    check.found += "; too old for CUDA 13.0";
    check.remedy = fmt::format("Install NVIDIA's driver, version {} or newer", kMinimumDriver);
  }
  return check;
}

std::string describe(const NumberedGpu& numbered) {
  const GpuInfo& gpu = numbered.info;
  std::string text = gpu.name.empty() ? "without a name" : gpu.name;
  if (numbered.number != gpu.index) text += fmt::format(", nvidia-smi's {}", gpu.index);
  if (gpu.memory_total_bytes && gpu.memory_free_bytes) {
    text += fmt::format(", {} ({} free)", human_size(*gpu.memory_total_bytes),
                        human_size(*gpu.memory_free_bytes));
  }
  if (gpu.capability_major && gpu.capability_minor) {
    text += fmt::format(", capability {}.{}", *gpu.capability_major, *gpu.capability_minor);
  }
  if (gpu.utilisation_percent) text += fmt::format(", {} % busy", *gpu.utilisation_percent);
  if (gpu.power_watts) text += fmt::format(", {:.0f} W", *gpu.power_watts);
  if (gpu.power_watts && gpu.power_limit_watts) {
    text += fmt::format(" of {:.0f}", *gpu.power_limit_watts);
  }
  if (!gpu.pci_bus_id.empty()) text += ", at " + gpu.pci_bus_id;
  return text;
}

Check check_gpu(const NumberedGpu& numbered) {
  const GpuInfo& gpu = numbered.info;
  Check check{.id = fmt::format("gpu{}", gpu.index),
              .name = numbered.name(),
              .found = describe(numbered),
              .needed_by = kGpuUse};
  if (gpu.capability_major && gpu.capability_minor &&
      *gpu.capability_major * 10 + *gpu.capability_minor < kLeastCapability) {
    check.verdict = Verdict::Fail;
    check.found += "; too old: Turing (capability 7.5) is the first that CUDA 13 serves";
    check.remedy = "Use another GPU, or --device cpu";
  }
  for (const std::string& fault : gpu.faults) {
    check.verdict = std::max(check.verdict, Verdict::Warn);
    check.found += "; " + fault;
  }
  if (numbered.tested != nullptr && !numbered.tested->fault.empty()) {
    check.verdict = Verdict::Fail;
    check.found += "; " + numbered.tested->fault;
    check.remedy = "Do not train on it: use another GPU, or --device cpu";
  }
  return check;
}

// "0-1 NV4, 0-2 SYS": of those that can be named.
std::string link_list(const GpuInventory& inventory, const std::vector<NumberedGpu>& gpus) {
  const auto number_of = [&gpus](int index) {
    const auto found =
        std::ranges::find(gpus, index, [](const NumberedGpu& gpu) { return gpu.info.index; });
    return found == gpus.end() ? std::nullopt : found->number;
  };
  std::vector<std::string> paths;
  for (const GpuLink& link : inventory.links) {
    const auto first = number_of(link.first);
    const auto second = number_of(link.second);
    if (!first || !second) continue;
    paths.push_back(fmt::format("{}-{} {}", std::min(*first, *second), std::max(*first, *second),
                                short_name(link)));
  }
  return fmt::format("{}", fmt::join(paths, ", "));
}

Check check_visible_devices(const GpuInventory& inventory) {
  Check check{.id = "visible_devices", .name = "visible GPUs", .needed_by = kGpuUse};
  try {
    visible_gpus(inventory);
    check.found = "CUDA_VISIBLE_DEVICES=" + *inventory.visible_devices +
                  "; GPU numbers, here and on the command line, count in that list";
  } catch (const DeviceError& error) {
    check.verdict = Verdict::Fail;
    check.found = error.what();
  }
  return check;
}

void add_gpus(const GpuInventory& inventory, const std::vector<NumberedGpu>& gpus, Checks& checks) {
  if (inventory.gpus.empty()) {
    checks.push_back({.id = "gpus", .name = "GPUs", .found = "none", .needed_by = kGpuUse});
    checks.back().verdict = Verdict::Fail;
  }
  for (const NumberedGpu& gpu : gpus) checks.push_back(check_gpu(gpu));
  if (const std::string links = link_list(inventory, gpus); !links.empty()) {
    checks.push_back({.id = "links",
                      .name = "between GPUs",
                      .found = links,
                      .needed_by = "--data-gpu with --model-gpu"});
  }
  if (inventory.visible_devices) checks.push_back(check_visible_devices(inventory));
}

}  // namespace

void add_gpu_checks(const Findings& findings, Checks& checks) {
  checks.push_back(check_driver(findings.machine.gpus));
  const auto gpus = numbered_gpus(findings);
  checks.push_back(check_plugin(findings.cuda, gpus));
  add_gpus(findings.machine.gpus, gpus, checks);
}

std::string topology_matrix(const GpuInventory& inventory, std::vector<NumberedGpu> gpus) {
  const auto path = [&inventory](int one, int other) {
    if (one == other) return std::string("X");
    for (const GpuLink& link : inventory.links) {
      if (link.first == std::min(one, other) && link.second == std::max(one, other)) {
        return short_name(link);
      }
    }
    return std::string("?");
  };
  std::erase_if(gpus, [](const NumberedGpu& gpu) { return !gpu.number; });
  std::string layout = "  <6";
  Rows rows{{""}};
  for (const NumberedGpu& gpu : gpus) {
    layout += "<7";
    rows.front().push_back(gpu.name());
    auto& row = rows.emplace_back(std::vector{gpu.name()});
    for (const NumberedGpu& other : gpus) row.push_back(path(gpu.info.index, other.info.index));
  }
  return table_text(layout, rows);
}

}  // namespace myxtts
