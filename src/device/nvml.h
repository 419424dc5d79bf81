// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "device/machine.h"

namespace myxtts {

// NVIDIA's management library, as far as we ask it. Its interface is stable across drivers; the
// declarations are our own, so that no header of NVIDIA is needed to build.

namespace nvml {

using Result = int;  // 0 is success
using Device = void*;

struct Memory {
  unsigned long long total, free, used;  // bytes
};
struct Utilisation {
  unsigned gpu, memory;  // percent
};
struct PciInfo {
  std::array<char, 16> bus_id_legacy;
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  std::array<char, 32> bus_id;
};

constexpr Result kSuccess = 0;
constexpr int kP2pRead = 0;  // of DeviceGetP2PStatus; its answer 0 is yes
constexpr int kP2pWrite = 1;
constexpr int kRemoteIsSwitch = 2;     // of DeviceGetNvLinkRemoteDeviceType
constexpr unsigned kMostNvLinks = 18;  // on one GPU, to this day

}  // namespace nvml

// The library to open: the one given, else that of the environment variable MYXTTS_NVML_LIBRARY,
// else libnvidia-ml.so.1.
std::string nvml_library_name(std::string given = {});

// The opened library with its functions. A function that the driver at hand lacks is null; the few
// that nothing works without are checked by fault().
struct Nvml {
  explicit Nvml(const std::string& library_name);

  // Why the library cannot be used at all; empty when it can.
  std::string fault() const;

  // NVML's own words for a result.
  std::string words(nvml::Result result) const;

  DynamicLibrary library;

  nvml::Result (*init)();
  nvml::Result (*shutdown)();
  const char* (*error_string)(nvml::Result);
  nvml::Result (*driver_version)(char*, unsigned);
  nvml::Result (*cuda_version)(int*);
  nvml::Result (*device_count)(unsigned*);
  nvml::Result (*device_by_index)(unsigned, nvml::Device*);
  nvml::Result (*name)(nvml::Device, char*, unsigned);
  nvml::Result (*uuid)(nvml::Device, char*, unsigned);
  nvml::Result (*pci_info)(nvml::Device, nvml::PciInfo*);
  nvml::Result (*memory)(nvml::Device, nvml::Memory*);
  nvml::Result (*utilisation)(nvml::Device, nvml::Utilisation*);
  nvml::Result (*capability)(nvml::Device, int*, int*);
  nvml::Result (*power)(nvml::Device, unsigned*);        // milliwatts
  nvml::Result (*power_limit)(nvml::Device, unsigned*);  // milliwatts
  nvml::Result (*common_ancestor)(nvml::Device, nvml::Device, int*);
  nvml::Result (*p2p_status)(nvml::Device, nvml::Device, int, int*);
  nvml::Result (*nvlink_state)(nvml::Device, unsigned, int*);
  nvml::Result (*nvlink_remote_type)(nvml::Device, unsigned, int*);
  nvml::Result (*nvlink_remote_pci)(nvml::Device, unsigned, nvml::PciInfo*);
};

// Asks NVIDIA's management library, opened under `library_name`, for every GPU and how they are
// connected. Never throws for something that is missing or fails: the reason stands in the result.
GpuInventory discover_gpus(const std::string& library_name);

// How busy a GPU is: at this moment, or averaged over several looks.
struct GpuUse {
  double busy_share = 0;   // 0 to 1: of the time in which it did anything, as NVML measures it
  double watts = 0;        // 0: the driver does not say
  double watts_limit = 0;  // the same
  std::int64_t used_bytes = 0;
  std::int64_t total_bytes = 0;
};

// Asks NVIDIA's management library again and again about one GPU. An answer takes well under a
// millisecond and no work of the GPU waits for it. One thread at a time.
class GpuMeter {
 public:
  // `library_name` as SystemProbe takes it.
  explicit GpuMeter(const std::string& uuid, const std::string& library_name = {});
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;
  ~GpuMeter();

  // Nothing where the driver does not say.
  std::optional<GpuUse> read() const;

 private:
  Nvml library_;
  bool open_ = false;
  nvml::Device device_ = nullptr;  // null: not found
};

}  // namespace myxtts
