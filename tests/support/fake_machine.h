// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "device/machine.h"

namespace myxtts::test {

// A machine that is whatever the test says. Healthy and without a GPU unless changed.
class FakeMachine final : public MachineProbe {
 public:
  CpuInfo cpu() override { return facts.cpu; }
  MemoryInfo memory() override { return facts.memory; }
  GpuInventory gpus() override { return facts.gpus; }
  DiskInfo disk(const std::filesystem::path& folder) override {
    DiskInfo answer = free_disk;
    answer.folder = folder;
    return answer;
  }

  Machine facts{.cpu = {.model = "Fake CPU 3000", .logical_cores = 16, .physical_cores = 8},
                .memory = {.total_bytes = 64'000'000'000, .available_bytes = 60'000'000'000},
                .gpus = {.driver_fault = "libnvidia-ml.so.1: cannot open shared object file"}};
  DiskInfo free_disk{.total_bytes = 1'000'000'000'000, .free_bytes = 500'000'000'000};
};

inline GpuInfo fake_h200(int index) {
  return {.index = index,
          .name = "NVIDIA H200",
          .pci_bus_id = "00000000:1" + std::to_string(index) + ":00.0",
          .memory_total_bytes = 150'754'820'096,
          .memory_free_bytes = 149'754'820'096,
          .utilisation_percent = 7,
          .capability_major = 9,
          .capability_minor = 0,
          .power_watts = 76.5,
          .power_limit_watts = 700.0};
}

inline GpuInfo fake_l4(int index) {
  GpuInfo gpu = fake_h200(index);
  gpu.name = "NVIDIA L4";
  gpu.memory_total_bytes = 24'152'899'584;
  gpu.memory_free_bytes = 20'000'000'000;
  gpu.capability_major = 8;
  gpu.capability_minor = 9;
  gpu.power_watts = 31.0;
  gpu.power_limit_watts = 72.0;
  return gpu;
}

}  // namespace myxtts::test
