// SPDX-License-Identifier: Apache-2.0
#include "device/nvml.h"

#include <cstdlib>

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
  resolve("nvmlDeviceGetP2PStatus", peer_status);
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

}  // namespace myxtts
