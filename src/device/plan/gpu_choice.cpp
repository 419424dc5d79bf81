// SPDX-License-Identifier: Apache-2.0
#include "device/plan/gpu_choice.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/message_text.h"
#include "config/field.h"
#include "device/cuda_plugin.h"
#include "device/plan/plan_devices.h"

namespace myxtts {

std::string megabytes(std::int64_t bytes) {
  return human_count((bytes + kMegabyte - 1) / kMegabyte) + " MB";
}

std::string label(const PlannedGpu& gpu) {
  if (gpu.listed == gpu.physical) return fmt::format("GPU {} ({})", gpu.listed, gpu.name);
  return fmt::format("GPU {} (nvidia-smi's {}, {})", gpu.listed, gpu.physical, gpu.name);
}

std::string short_bus_id(std::string id) {
  const auto colon = id.find(':');
  if (colon != std::string::npos && colon > 4) id.erase(0, colon - 4);
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return id;
}

namespace {

// "0 (NVIDIA L4, 23,034 MB)": every GPU with the number a person would type.
std::string list_entries(const std::vector<GpuInfo>& gpus) {
  std::string text;
  for (std::size_t number = 0; number < gpus.size(); ++number) {
    const GpuInfo& gpu = gpus[number];
    text += fmt::format("{}{} ({}", number > 0 ? ", " : "", number,
                        gpu.name.empty() ? "without a name" : gpu.name);
    if (gpu.memory_total_bytes) text += ", " + megabytes(*gpu.memory_total_bytes);
    if (gpu.index != static_cast<int>(number)) {
      text += fmt::format(", nvidia-smi's {}", gpu.index);
    }
    text += ")";
  }
  return text;
}

// "1 GPU: 0 (NVIDIA L4, 23,034 MB)", or "no GPU".
std::string list_numbered(const std::vector<GpuInfo>& gpus) {
  if (gpus.empty()) return "no GPU";
  return fmt::format("{}: {}", counted(std::ssize(gpus), "GPU"), list_entries(gpus));
}

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

namespace {

constexpr int kLeastCapability = 75;  // Turing, the first that CUDA 13 serves

std::string typed(const RunConfig& config, std::string_view key) {
  const Field* field = find_field(key);
  if (!field->negative_flag.empty()) return field->flag;
  return field->flag + " " + field->value_of(config).text;
}

// What is missing for a GPU to be used, and what helps besides the CPU; empty: nothing. Only a card
// that is there can be hidden.
std::string missing(const GpuInventory& inventory, const std::vector<GpuInfo>& visible,
                    const std::string& cuda_fault) {
  if (!inventory.driver_found) {
    return fmt::format(
        "there is no NVIDIA driver ({}). Install NVIDIA's driver, version {} or newer",
        inventory.driver_fault, kMinimumDriver);
  }
  if (inventory.gpus.empty()) return "this machine has none. Use one that has a GPU";
  if (visible.empty()) {
    return fmt::format(
        "CUDA_VISIBLE_DEVICES={} hides them all ({}). Type: unset CUDA_VISIBLE_DEVICES",
        inventory.visible_devices.value_or(""), list_numbered(inventory.gpus));
  }
  if (!cuda_fault.empty()) return cuda_fault;
  int driver = 0;
  const std::string& version = inventory.driver_version;
  std::from_chars(version.data(), version.data() + version.size(), driver);
  if (driver > 0 && driver < kMinimumDriver) {
    return fmt::format(
        "the driver {} is too old for CUDA 13. Install NVIDIA's driver, version {} or newer",
        version, kMinimumDriver);
  }
  return {};
}

}  // namespace

std::string gpu_flags(const RunConfig& config) {
  const DevicesConfig& devices = config.devices;
  std::string flags;
  const auto add = [&](bool is_given, std::string_view key) {
    if (is_given) flags += (flags.empty() ? "" : " ") + typed(config, key);
  };
  // In the order of the fields, as with_origins() expects what a preset sets.
  add(config.data.data_gpu.has_value(), "data.data_gpu");
  add(config.data.model_gpu.has_value(), "data.model_gpu");
  add(devices.device == DeviceKind::Cuda, "devices.device");
  add(devices.mode && *devices.mode != Mode::Cpu, "devices.mode");
  add(devices.split_gpu.has_value(), "devices.split_gpu");
  add(devices.transfer_path != TransferPath::Auto, "devices.transfer_path");
  add(devices.enable_memory_isolation, "devices.enable_memory_isolation");
  add(devices.data_gpu_memory.has_value(), "devices.data_gpu_memory");
  add(devices.model_gpu_memory.has_value(), "devices.model_gpu_memory");
  add(devices.gpus.has_value(), "parallel.gpus");
  return flags;
}

GpuChoice::GpuChoice(const GpuInventory& inventory, const std::string& flags,
                     const std::string& cuda_fault)
    : inventory_(inventory), gpus_(visible_gpus(inventory)) {
  const std::string fault = missing(inventory_, gpus_, cuda_fault);
  if (fault.empty()) return;
  if (!flags.empty()) {
    throw DeviceError(fmt::format("{} needs a GPU, but {}, or give --device cpu in place of {}.",
                                  flags, fault, flags));
  }
  if (gpus_.empty()) return;
  throw DeviceError(
      fmt::format("This machine has {}, which CUDA cannot use: {}, or give --device cpu.",
                  list_numbered(gpus_), fault));
}

std::string GpuChoice::why_none() const {
  if (!inventory_.driver_found) return "The CPU is used: there is no NVIDIA driver.";
  if (inventory_.gpus.empty()) return "The CPU is used: there is no GPU.";
  return fmt::format("The CPU is used: CUDA_VISIBLE_DEVICES={} hides every GPU.",
                     inventory_.visible_devices.value_or(""));
}

void GpuChoice::require_two(const std::string& flags) const {
  if (gpus_.size() >= 2) return;
  throw DeviceError(fmt::format(
      "{}: Multi-GPU requires at least 2 GPUs, found {}: {}; leave out {} to use it alone, or give "
      "--split-gpu 0 instead to use it as two.",
      kTooFewGpus, gpus_.size(), list_entries(gpus_), flags));
}

PlannedGpu GpuChoice::gpu(const std::string& flag, std::int64_t number,
                          const std::string& remedy) const {
  if (number >= 0 && number < static_cast<std::int64_t>(gpus_.size())) {
    return usable(static_cast<std::size_t>(number));
  }
  throw DeviceError(
      fmt::format("{} {} is not there: {} {}; give {}.", flag, number,
                  inventory_.visible_devices ? "CUDA_VISIBLE_DEVICES shows" : "this machine has",
                  list_numbered(gpus_), remedy));
}

PlannedGpu GpuChoice::usable(std::size_t number) const {
  const GpuInfo& gpu = gpus_.at(number);
  PlannedGpu planned{.physical = gpu.index,
                     .listed = static_cast<int>(number),
                     .name = gpu.name.empty() ? "without a name" : gpu.name,
                     .uuid = gpu.uuid,
                     .pci_bus_id = gpu.pci_bus_id,
                     .memory_bytes = gpu.memory_total_bytes.value_or(0),
                     .free_bytes = gpu.memory_free_bytes.value_or(0)};
  if (gpu.uuid.empty() || !gpu.memory_total_bytes) {
    throw DeviceError(fmt::format(
        "{} does not answer the driver ({}) and cannot be used; take another GPU, or reset it.",
        label(planned), gpu.faults.empty() ? "no reason given" : gpu.faults.front()));
  }
  if (gpu.capability_major &&
      *gpu.capability_major * 10 + gpu.capability_minor.value_or(0) < kLeastCapability) {
    throw DeviceError(fmt::format(
        "{} has compute capability {}.{}, and CUDA 13 needs 7.5 (Turing) or newer; take another "
        "GPU, or none with --device cpu.",
        label(planned), *gpu.capability_major, gpu.capability_minor.value_or(0)));
  }
  return planned;
}

GpuLink GpuChoice::link_between(const PlannedGpu& one, const PlannedGpu& other) const {
  const auto [first, second] = std::minmax(one.physical, other.physical);
  for (const GpuLink& link : inventory_.links) {
    if (link.first == first && link.second == second) return link;
  }
  return {.first = first, .second = second};
}

BatchPath GpuChoice::path_between(const PlannedGpu& data, const PlannedGpu& model,
                                  TransferPath wanted, std::vector<std::string>& notes) const {
  if (wanted == TransferPath::Host) return BatchPath::PinnedHost;
  const GpuLink link = link_between(data, model);
  if (link.p2p_access == true) return BatchPath::P2p;
  if (wanted == TransferPath::Auto) {
    notes.push_back(fmt::format(
        "Batches go through host memory: {} and {} {}.", label(data), label(model),
        link.p2p_access ? "have no peer access" : "do not tell whether they have peer access"));
    return BatchPath::PinnedHost;
  }
  if (!link.p2p_access) return BatchPath::P2p;  // CUDA will know when the run starts
  throw DeviceError(
      fmt::format("--transfer-path peer needs peer access, which {} and {} do not have; give "
                  "--transfer-path host.",
                  label(data), label(model)));
}

void GpuChoice::warn_of_bad_pair(const PlannedGpu& data, const PlannedGpu& model,
                                 std::vector<std::string>& warnings) const {
  const GpuLink link = link_between(data, model);
  if (link.path == GpuPath::Node || link.path == GpuPath::Sys) {
    warnings.push_back(fmt::format(
        "{} and {} are far apart ({}): batches pass {}. Two cards under one PCI switch are "
        "nearer: see nvidia-smi topo -m.",
        label(data), label(model), short_name(link),
        link.path == GpuPath::Sys ? "between processor sockets" : "several PCI host bridges"));
  }
  const auto strength = [this](const PlannedGpu& gpu) {
    const GpuInfo& info = gpus_.at(static_cast<std::size_t>(gpu.listed));
    // Cards of one size differ by a few MB.
    return std::pair(gpu.memory_bytes >> 29,
                     info.capability_major.value_or(0) * 10 + info.capability_minor.value_or(0));
  };
  if (strength(model) < strength(data)) {
    warnings.push_back(fmt::format(
        "{} with {} trains, the weaker of the two; {} with {} only prepares data. --data-gpu {} "
        "--model-gpu {} is probably faster.",
        label(model), megabytes(model.memory_bytes), label(data), megabytes(data.memory_bytes),
        model.listed, data.listed));
  }
}

void GpuChoice::warn_of_order(std::vector<std::string>& warnings) const {
  if (!inventory_.visible_devices || inventory_.device_order == "PCI_BUS_ID") return;
  const bool by_number = inventory_.visible_devices->find("GPU-") == std::string::npos;
  const bool unequal =
      std::any_of(inventory_.gpus.begin(), inventory_.gpus.end(),
                  [this](const GpuInfo& gpu) { return gpu.name != inventory_.gpus.front().name; });
  if (!by_number || !unequal) return;
  warnings.push_back(fmt::format(
      "CUDA_VISIBLE_DEVICES={} is read in nvidia-smi's order; to other programs its numbers may "
      "mean other cards here, because the cards are unequal and CUDA_DEVICE_ORDER is not "
      "PCI_BUS_ID.",
      *inventory_.visible_devices));
}

}  // namespace myxtts
