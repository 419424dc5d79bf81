// SPDX-License-Identifier: Apache-2.0
#include "device/nvml.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace myxtts {

std::string nvml_library_name(std::string given) {
  if (!given.empty()) return given;
  const char* chosen = std::getenv("MYXTTS_NVML_LIBRARY");
  return chosen != nullptr && *chosen != '\0' ? chosen : "libnvidia-ml.so.1";
}

Nvml::Nvml(const std::string& library_name) : library(library_name) {
  const auto resolve = [this](const char* symbol, auto& function) {
    function = library.function<std::remove_reference_t<decltype(function)>>(symbol);
  };
  resolve("nvmlInit_v2", init);
  resolve("nvmlShutdown", shutdown);
  resolve("nvmlErrorString", error_string);
  resolve("nvmlSystemGetDriverVersion", driver_version);
  resolve("nvmlSystemGetCudaDriverVersion_v2", cuda_version);
  resolve("nvmlDeviceGetCount_v2", device_count);
  resolve("nvmlDeviceGetHandleByIndex_v2", device_by_index);
  resolve("nvmlDeviceGetName", name);
  resolve("nvmlDeviceGetUUID", uuid);
  resolve("nvmlDeviceGetPciInfo_v3", pci_info);
  resolve("nvmlDeviceGetMemoryInfo", memory);
  resolve("nvmlDeviceGetUtilizationRates", utilisation);
  resolve("nvmlDeviceGetCudaComputeCapability", capability);
  resolve("nvmlDeviceGetPowerUsage", power);
  resolve("nvmlDeviceGetEnforcedPowerLimit", power_limit);
  resolve("nvmlDeviceGetTopologyCommonAncestor", common_ancestor);
  resolve("nvmlDeviceGetP2PStatus", p2p_status);
  resolve("nvmlDeviceGetNvLinkState", nvlink_state);
  resolve("nvmlDeviceGetNvLinkRemoteDeviceType", nvlink_remote_type);
  resolve("nvmlDeviceGetNvLinkRemotePciInfo_v2", nvlink_remote_pci);
}

std::string Nvml::fault() const {
  if (!library.is_open()) return library.reason();
  const auto lacks = [this](const char* symbol) {
    return fmt::format("{} has no function {}", library.path(), symbol);
  };
  if (init == nullptr) return lacks("nvmlInit_v2");
  if (shutdown == nullptr) return lacks("nvmlShutdown");
  if (device_count == nullptr) return lacks("nvmlDeviceGetCount_v2");
  if (device_by_index == nullptr) return lacks("nvmlDeviceGetHandleByIndex_v2");
  return {};
}

std::string Nvml::words(nvml::Result result) const {
  const char* said = error_string != nullptr ? error_string(result) : nullptr;
  return said != nullptr ? said : fmt::format("error {}", result);
}

namespace {

// Calls functions of NVML and notes what failed, each with the function's name.
class Caller {
 public:
  Caller(const Nvml& library, std::vector<std::string>& faults)
      : library_(library), faults_(faults) {}

  template <typename Function, typename... Args>
  bool call(const char* symbol, Function function, Args... args) {
    if (function == nullptr) return note(symbol, "not in this driver");
    const nvml::Result result = function(args...);
    return result == nvml::kSuccess || note(symbol, library_.words(result));
  }

  template <typename Function, typename... Args>
  std::string text(const char* symbol, Function function, Args... args) {
    std::array<char, 96> buffer{};
    const auto size = static_cast<unsigned>(buffer.size());
    return call(symbol, function, args..., buffer.data(), size) ? buffer.data() : std::string();
  }

 private:
  bool note(const char* symbol, const std::string& why) {
    faults_.push_back(fmt::format("{}: {}", symbol, why));
    return false;
  }

  const Nvml& library_;
  std::vector<std::string>& faults_;
};

void ask_memory_and_load(const Nvml& library, nvml::Device device, GpuInfo& gpu) {
  Caller ask(library, gpu.faults);
  if (nvml::Memory memory{}; ask.call("nvmlDeviceGetMemoryInfo", library.memory, device, &memory)) {
    gpu.memory_total_bytes = static_cast<std::int64_t>(memory.total);
    gpu.memory_free_bytes = static_cast<std::int64_t>(memory.free);
  }
  if (nvml::Utilisation load{};
      ask.call("nvmlDeviceGetUtilizationRates", library.utilisation, device, &load)) {
    gpu.utilisation_percent = static_cast<int>(load.gpu);
  }
  if (unsigned used = 0; ask.call("nvmlDeviceGetPowerUsage", library.power, device, &used)) {
    gpu.power_watts = used / 1000.0;
  }
  if (unsigned limit = 0;
      ask.call("nvmlDeviceGetEnforcedPowerLimit", library.power_limit, device, &limit)) {
    gpu.power_limit_watts = limit / 1000.0;
  }
}

GpuInfo ask_gpu(const Nvml& library, nvml::Device device, int index) {
  GpuInfo gpu{.index = index};
  Caller ask(library, gpu.faults);
  gpu.name = ask.text("nvmlDeviceGetName", library.name, device);
  gpu.uuid = ask.text("nvmlDeviceGetUUID", library.uuid, device);
  if (nvml::PciInfo pci{}; ask.call("nvmlDeviceGetPciInfo_v3", library.pci_info, device, &pci)) {
    gpu.pci_bus_id = pci.bus_id.data();
  }
  int major = 0;
  int minor = 0;
  if (ask.call("nvmlDeviceGetCudaComputeCapability", library.capability, device, &major, &minor)) {
    gpu.capability_major = major;
    gpu.capability_minor = minor;
  }
  ask_memory_and_load(library, device, gpu);
  return gpu;
}

struct NvLinks {
  int direct = 0;     // to the other GPU itself
  int to_switch = 0;  // to a switch, which reaches every GPU on it
};

// A link that is down, absent or not supported is no link and no fault: NVML answers so on every
// card without NVLink.
NvLinks count_nvlinks(const Nvml& library, nvml::Device device, const std::string& other_bus_id) {
  NvLinks links;
  if (library.nvlink_state == nullptr) return links;
  for (unsigned link = 0; link < nvml::kMostNvLinks; ++link) {
    int active = 0;
    if (library.nvlink_state(device, link, &active) != nvml::kSuccess || active == 0) continue;
    int remote_type = 0;
    if (library.nvlink_remote_type != nullptr &&
        library.nvlink_remote_type(device, link, &remote_type) == nvml::kSuccess &&
        remote_type == nvml::kRemoteIsSwitch) {
      ++links.to_switch;
      continue;
    }
    nvml::PciInfo remote{};
    if (library.nvlink_remote_pci != nullptr &&
        library.nvlink_remote_pci(device, link, &remote) == nvml::kSuccess &&
        other_bus_id == remote.bus_id.data()) {
      ++links.direct;
    }
  }
  return links;
}

GpuPath path_over_pci(int ancestor) {
  switch (ancestor) {  // nvmlGpuTopologyLevel_t
    case 0:
      return GpuPath::SameBoard;
    case 10:
      return GpuPath::Pix;
    case 20:
      return GpuPath::Pxb;
    case 30:
      return GpuPath::Phb;
    case 40:
      return GpuPath::Node;
    case 50:
      return GpuPath::Sys;
    default:
      return GpuPath::Unknown;
  }
}

// Nothing: the driver does not say, which is no fault of the cards.
std::optional<bool> ask_p2p_access(const Nvml& library, nvml::Device one, nvml::Device other) {
  if (library.p2p_status == nullptr) return std::nullopt;
  for (const int direction : {nvml::kP2pRead, nvml::kP2pWrite}) {
    int status = -1;
    if (library.p2p_status(one, other, direction, &status) != nvml::kSuccess) return std::nullopt;
    if (status != 0) return false;
  }
  return true;
}

using OpenedGpu = std::pair<nvml::Device, GpuInfo>;

GpuLink ask_link(const Nvml& library, const OpenedGpu& one, const OpenedGpu& other,
                 std::vector<std::string>& faults) {
  const auto& [first, first_info] = one;
  const auto& [second, second_info] = other;
  GpuLink link{.first = first_info.index, .second = second_info.index};
  link.p2p_access = ask_p2p_access(library, first, second);
  const NvLinks from = count_nvlinks(library, first, second_info.pci_bus_id);
  const NvLinks back = count_nvlinks(library, second, first_info.pci_bus_id);
  link.nvlinks = std::max(from.direct, back.direct);
  if (link.nvlinks == 0) link.nvlinks = std::min(from.to_switch, back.to_switch);
  if (link.nvlinks > 0) {
    link.path = GpuPath::NvLink;
    return link;
  }
  int ancestor = -1;
  if (Caller(library, faults)
          .call("nvmlDeviceGetTopologyCommonAncestor", library.common_ancestor, first, second,
                &ancestor)) {
    link.path = path_over_pci(ancestor);
  }
  return link;
}

void ask_everything(const Nvml& library, GpuInventory& inventory) {
  Caller ask(library, inventory.faults);
  inventory.driver_version = ask.text("nvmlSystemGetDriverVersion", library.driver_version);
  ask.call("nvmlSystemGetCudaDriverVersion_v2", library.cuda_version, &inventory.cuda_version);
  unsigned count = 0;
  ask.call("nvmlDeviceGetCount_v2", library.device_count, &count);

  std::vector<OpenedGpu> opened;
  for (unsigned index = 0; index < count; ++index) {
    nvml::Device device = nullptr;
    GpuInfo gpu{.index = static_cast<int>(index)};
    if (Caller(library, gpu.faults)
            .call("nvmlDeviceGetHandleByIndex_v2", library.device_by_index, index, &device)) {
      gpu = ask_gpu(library, device, gpu.index);
      opened.emplace_back(device, gpu);
    }
    inventory.gpus.push_back(std::move(gpu));
  }
  for (auto first = opened.begin(); first != opened.end(); ++first) {
    for (auto second = first + 1; second != opened.end(); ++second) {
      inventory.links.push_back(ask_link(library, *first, *second, inventory.faults));
    }
  }
}

}  // namespace

GpuInventory discover_gpus(const std::string& library_name) {
  GpuInventory inventory;
  const Nvml library(library_name);
  inventory.driver_fault = library.fault();
  if (!inventory.driver_fault.empty()) return inventory;
  if (const nvml::Result result = library.init(); result != nvml::kSuccess) {
    inventory.driver_fault = "nvmlInit_v2: " + library.words(result);
    return inventory;
  }
  inventory.driver_found = true;
  ask_everything(library, inventory);
  library.shutdown();
  return inventory;
}

GpuMeter::GpuMeter(const std::string& uuid, const std::string& library_name)
    : library_(nvml_library_name(library_name)) {
  if (!library_.fault().empty() || library_.init() != nvml::kSuccess) return;
  open_ = true;
  unsigned count = 0;
  if (library_.device_count(&count) != nvml::kSuccess || library_.uuid == nullptr) return;
  for (unsigned index = 0; index < count && device_ == nullptr; ++index) {
    nvml::Device candidate = nullptr;
    std::array<char, 96> text{};
    const auto size = static_cast<unsigned>(text.size());
    if (library_.device_by_index(index, &candidate) == nvml::kSuccess &&
        library_.uuid(candidate, text.data(), size) == nvml::kSuccess && uuid == text.data()) {
      device_ = candidate;
    }
  }
}

GpuMeter::~GpuMeter() {
  if (open_ && library_.shutdown != nullptr) library_.shutdown();
}

std::optional<GpuUse> GpuMeter::read() const {
  if (device_ == nullptr || library_.memory == nullptr || library_.utilisation == nullptr) {
    return std::nullopt;
  }
  nvml::Memory memory{};
  nvml::Utilisation load{};
  if (library_.memory(device_, &memory) != nvml::kSuccess ||
      library_.utilisation(device_, &load) != nvml::kSuccess) {
    return std::nullopt;
  }
  unsigned power = 0;  // milliwatts
  unsigned limit = 0;
  if (library_.power != nullptr) library_.power(device_, &power);
  if (library_.power_limit != nullptr) library_.power_limit(device_, &limit);
  return GpuUse{.busy_share = load.gpu / 100.0,
                .watts = power / 1000.0,
                .watts_limit = limit / 1000.0,
                .used_bytes = static_cast<std::int64_t>(memory.used),
                .total_bytes = static_cast<std::int64_t>(memory.total)};
}

}  // namespace myxtts
