// SPDX-License-Identifier: Apache-2.0
#include "device/visible_devices.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <span>
#include <sstream>

#include <fmt/ranges.h>

#include "base/error.h"
#include "device/cuda_plugin.h"
#include "device/plan/gpu_words.h"
#include "device/plan_devices.h"

namespace myxtts {
namespace {

constexpr const char* kVariable = "CUDA_VISIBLE_DEVICES";

std::vector<std::string> entries_of(const std::string& list) {
  std::vector<std::string> entries;
  std::istringstream stream(list);
  for (std::string entry; std::getline(stream, entry, ',');) {
    const auto first = entry.find_first_not_of(" \t");
    const auto last = entry.find_last_not_of(" \t");
    entries.push_back(first == std::string::npos ? "" : entry.substr(first, last - first + 1));
  }
  return entries;
}

std::optional<int> whole_number(const std::string& text) {
  int number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

[[noreturn]] void refuse(const GpuInventory& inventory, const std::string& why) {
  throw DeviceError(
      fmt::format("{}={} {}; this machine has {}. Name one of them, or type: unset {}.", kVariable,
                  *inventory.visible_devices, why, list_numbered(inventory.gpus), kVariable));
}

const GpuInfo& find(const GpuInventory& inventory, const std::string& entry) {
  if (entry.starts_with("MIG")) {
    refuse(inventory, fmt::format("names a part of a GPU ({}), and MyXTTS uses whole ones", entry));
  }
  std::vector<const GpuInfo*> found;
  const std::optional<int> number = whole_number(entry);
  for (const GpuInfo& gpu : inventory.gpus) {
    const bool by_uuid = entry.starts_with("GPU-") && gpu.uuid.starts_with(entry);
    if (number ? gpu.index == *number : by_uuid) found.push_back(&gpu);
  }
  if (found.empty()) refuse(inventory, fmt::format("names '{}', which is not there", entry));
  if (found.size() > 1) refuse(inventory, fmt::format("names '{}', which fits several", entry));
  return *found.front();
}

}  // namespace

std::vector<GpuInfo> visible_gpus(const GpuInventory& inventory) {
  if (!inventory.visible_devices) return inventory.gpus;
  std::vector<GpuInfo> gpus;
  for (const std::string& entry : entries_of(*inventory.visible_devices)) {
    if (entry.empty() || entry == "-1") break;  // CUDA's own rule: the list ends there
    const GpuInfo& gpu = find(inventory, entry);
    const bool twice = std::any_of(gpus.begin(), gpus.end(), [&gpu](const GpuInfo& earlier) {
      return earlier.index == gpu.index;
    });
    if (twice) refuse(inventory, fmt::format("names GPU {} twice", gpu.index));
    gpus.push_back(gpu);
  }
  return gpus;
}

void set_visible_devices(std::span<const DevicePlan> plans) {
  MYXTTS_CHECK(!cuda_plugin_is_open(), "visible devices were set after CUDA was opened");
  std::vector<std::string> uuids;
  for (const DevicePlan& plan : plans) {
    for (const std::string& uuid : plan.visible_uuids()) {
      if (std::ranges::find(uuids, uuid) == uuids.end()) uuids.push_back(uuid);
    }
  }
  const std::string list = fmt::format("{}", fmt::join(uuids, ","));
  setenv(kVariable, list.c_str(), /*overwrite=*/1);
}

void set_visible_devices(const DevicePlan& plan) {
  set_visible_devices(std::span(&plan, 1));
}

std::vector<DevicePlan> open_devices(std::vector<DevicePlan> plans) {
  set_visible_devices(std::span<const DevicePlan>(plans));
  for (DevicePlan& plan : plans) {
    if (plan.data.gpu) plan = with_cuda_facts(std::move(plan), require_cuda().devices());
  }
  return plans;
}

DevicePlan open_devices(DevicePlan plan) {
  set_visible_devices(plan);
  if (!plan.data.gpu) return plan;
  return with_cuda_facts(std::move(plan), require_cuda().devices());
}

}  // namespace myxtts
