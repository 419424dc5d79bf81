// SPDX-License-Identifier: Apache-2.0
#include "diagnose/doctor/gpu_checks.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/human.h"
#include "device/cuda_plugin.h"

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

Check check_plugin(const CudaFacts& cuda) {
  Check check{.id = "cuda_plugin", .name = "CUDA plugin", .needed_by = kGpuUse};
  if (!cuda.reason.empty()) {
    check.state = CheckState::Missing;
    check.found = (cuda.plugin_present ? "built; " : "") + cuda.reason;
    check.remedy = cuda.remedy;
    return check;
  }
  check.found = cuda_text(cuda.runtime_version);
  if (!cuda.working_devices.empty()) {
    check.found +=
        fmt::format("; our kernels run on GPU {}", fmt::join(cuda.working_devices, ", "));
  }
  const auto working = static_cast<int>(cuda.working_devices.size());
  if (cuda.faults.empty() && working == cuda.libtorch_devices && working > 0) return check;
  check.state = CheckState::Warning;
  if (working != cuda.libtorch_devices) {
    check.found += fmt::format("; LibTorch sees {} GPUs", cuda.libtorch_devices);
  }
  for (const std::string& fault : cuda.faults) check.found += "; " + fault;
  check.remedy = "See the rows of the driver and the GPUs";
  return check;
}

Check check_driver(const GpuInventory& gpus) {
  Check check{.id = "driver", .name = "NVIDIA driver", .needed_by = kGpuUse};
  if (!gpus.driver_found) {
    check.state = CheckState::Missing;
    check.found = "none: " + gpus.driver_fault;
    check.remedy =
        fmt::format("For a GPU install NVIDIA's driver, version {} or newer", kMinimumDriver);
    return check;
  }
  check.found = gpus.driver_version;
  if (gpus.cuda_version > 0)
    check.found += fmt::format(" (up to {})", cuda_text(gpus.cuda_version));
  for (const std::string& fault : gpus.faults) {
    check.state = CheckState::Warning;
    check.found += "; " + fault;
  }
  const int major = major_of(gpus.driver_version);
  if (major > 0 && major < kMinimumDriver) {
    check.state = CheckState::Missing;
    check.found += "; too old for CUDA 13.0";
    check.remedy = fmt::format("Install NVIDIA's driver, version {} or newer", kMinimumDriver);
  }
  return check;
}

std::string describe(const GpuInfo& gpu) {
  std::string text = gpu.name.empty() ? "without a name" : gpu.name;
  if (gpu.memory_total_bytes && gpu.memory_free_bytes) {
    text += fmt::format(", {} ({} free)",
                        human_size(static_cast<std::uint64_t>(*gpu.memory_total_bytes)),
                        human_size(static_cast<std::uint64_t>(*gpu.memory_free_bytes)));
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

Check check_gpu(const GpuInfo& gpu) {
  Check check{.id = fmt::format("gpu{}", gpu.index),
              .name = fmt::format("GPU {}", gpu.index),
              .found = describe(gpu),
              .needed_by = kGpuUse};
  if (gpu.capability_major && gpu.capability_minor &&
      *gpu.capability_major * 10 + *gpu.capability_minor < kLeastCapability) {
    check.state = CheckState::Missing;
    check.found += "; too old: Turing (capability 7.5) is the first that CUDA 13 serves";
    check.remedy = "Use another GPU, or --device cpu";
  }
  for (const std::string& fault : gpu.faults) {
    check.state = std::max(check.state, CheckState::Warning);
    check.found += "; " + fault;
  }
  return check;
}

void add_gpus(const GpuInventory& inventory, std::vector<Check>& checks) {
  if (inventory.gpus.empty()) {
    checks.push_back({.id = "gpus", .name = "GPUs", .found = "none", .needed_by = kGpuUse});
    checks.back().state = CheckState::Missing;
  }
  for (const GpuInfo& gpu : inventory.gpus) checks.push_back(check_gpu(gpu));
  if (!inventory.links.empty()) {
    std::vector<std::string> paths;
    for (const GpuLink& link : inventory.links) {
      paths.push_back(fmt::format("{}-{} {}", link.first, link.second, short_name(link)));
    }
    checks.push_back({.id = "links",
                      .name = "between GPUs",
                      .found = fmt::format("{}", fmt::join(paths, ", ")),
                      .needed_by = "--data-gpu with --model-gpu"});
  }
  if (inventory.visible_devices) {
    checks.push_back({.id = "visible_devices",
                      .name = "visible GPUs",
                      .found = "CUDA_VISIBLE_DEVICES=" + *inventory.visible_devices +
                               "; GPU numbers on the command line count in that list",
                      .needed_by = kGpuUse});
  }
}

}  // namespace

void add_gpu_checks(const Findings& findings, std::vector<Check>& checks) {
  checks.push_back(check_driver(findings.machine.gpus));
  checks.push_back(check_plugin(findings.cuda));
  add_gpus(findings.machine.gpus, checks);
}

}  // namespace myxtts
