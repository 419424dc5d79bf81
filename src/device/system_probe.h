// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "device/machine.h"

namespace myxtts {

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
