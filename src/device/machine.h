// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace myxtts {

// What was found on a machine. A value that could not be measured is absent, and the reason stands
// in the `faults` beside it: a broken card must not hide the others.

struct CpuInfo {
  std::string model = {};  // empty: not known
  int logical_cores = 0;   // that this process may run on (affinity)
  int physical_cores = 0;  // those cores, hyper-threads counted once
  double quota = 0.0;      // cores' worth of time a container allows; 0: no limit

  // How many threads can really run at once: at least 1.
  int usable_cores() const;
};

struct MemoryInfo {
  std::int64_t total_bytes = 0;      // of the machine or of the container, the smaller
  std::int64_t available_bytes = 0;  // that can be had without swapping
  bool limited_by_container = false;
};

struct DiskInfo {
  std::filesystem::path folder = {};
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = 0;  // for this user
  std::string fault = {};       // why the numbers are 0
};

struct GpuInfo {
  int index = 0;  // nvidia-smi's
  std::string name = {};
  std::string uuid = {};
  std::string pci_bus_id = {};
  std::optional<std::int64_t> memory_total_bytes = {};
  std::optional<std::int64_t> memory_free_bytes = {};
  std::optional<int> utilisation_percent = {};
  std::optional<int> capability_major = {};
  std::optional<int> capability_minor = {};
  std::optional<double> power_watts = {};
  std::optional<double> power_limit_watts = {};
  std::vector<std::string> faults = {};  // "nvmlDeviceGetName: Unknown Error"
};

// How two GPUs are connected, nearest first; named as `nvidia-smi topo -m` does.
enum class GpuPath { NvLink, SameBoard, Pix, Pxb, Phb, Node, Sys, Unknown };

struct GpuLink {
  int first = 0;
  int second = 0;
  GpuPath path = GpuPath::Unknown;
  int nvlinks = 0;                      // how many, for NvLink
  std::optional<bool> p2p_access = {};  // each may read and write the other's memory
};

// "NV4", "PIX", ..., "?"
std::string short_name(const GpuLink& link);

struct GpuInventory {
  bool driver_found = false;        // NVML was opened and answers
  std::string driver_fault = {};    // why not
  std::string driver_version = {};  // "580.65.06"
  int cuda_version = 0;             // newest the driver supports: 13000 is 13.0; 0: not known
  std::vector<GpuInfo> gpus = {};   // in nvidia-smi's order
  std::vector<GpuLink> links = {};  // one for each pair, first < second
  std::vector<std::string> faults = {};
  std::optional<std::string> visible_devices = {};  // CUDA_VISIBLE_DEVICES where it is set
  std::string device_order = {};                    // CUDA_DEVICE_ORDER
};

struct Machine {
  CpuInfo cpu;
  MemoryInfo memory;
  GpuInventory gpus;
};

// Where the facts about a machine come from. Calls take milliseconds (the GPUs' up to some hundred)
// and never throw for something that is missing.
class MachineProbe {
 public:
  virtual ~MachineProbe() = default;
  virtual CpuInfo cpu() = 0;
  virtual MemoryInfo memory() = 0;
  virtual GpuInventory gpus() = 0;
  virtual DiskInfo disk(const std::filesystem::path& folder) = 0;
};

Machine discover_machine(MachineProbe& probe);

// "2 × NVIDIA H200 (141 GB), driver 580.65.06, CUDA 13.0", or why there is none.
std::string describe_gpus(const GpuInventory& inventory);

// What the control groups (containers, SLURM, systemd) around this process allow, in version 1 and
// 2 of Linux's interface. A limit may stand at any folder on the way up; the tightest counts.

// Cores' worth of processor time; nothing: no limit.
std::optional<double> cpu_quota(const std::filesystem::path& root);

// The limit that leaves least room, and how much it leaves, without counting file cache that would
// be given up on demand; nothing: no limit.
std::optional<MemoryInfo> memory_limit(const std::filesystem::path& root);

// Asks the machine the program runs on: /proc, /sys and the control groups for processor and
// memory, NVIDIA's management library for the GPUs. Starts no CUDA context.
class SystemProbe final : public MachineProbe {
 public:
  // Reads /proc and /sys below `root`. `nvml_library` is opened for the GPUs; empty takes the
  // environment variable MYXTTS_NVML_LIBRARY, else libnvidia-ml.so.1.
  explicit SystemProbe(std::filesystem::path root = "/", std::string nvml_library = {});

  CpuInfo cpu() override;
  MemoryInfo memory() override;
  GpuInventory gpus() override;
  DiskInfo disk(const std::filesystem::path& folder) override;

 private:
  std::filesystem::path root_;
  std::string nvml_library_;
};

}  // namespace myxtts
