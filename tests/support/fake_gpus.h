// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "device/machine.h"

namespace myxtts::test {

// A machine with GPUs of the test's choosing: 16 cores, 60 GB of free memory, a driver that is new
// enough, every pair of cards under one PCI switch with peer access.
struct FakeGpus {
  Machine machine{
      .cpu = {.model = "Fake CPU 3000", .logical_cores = 16, .physical_cores = 8},
      .memory = {.total_bytes = 64'000'000'000, .available_bytes = 60'000'000'000},
      .gpus = {.driver_found = true, .driver_version = "580.65.06", .cuda_version = 13000}};

  FakeGpus& add(const std::string& name, std::int64_t megabytes, int capability) {
    const int index = static_cast<int>(machine.gpus.gpus.size());
    for (int other = 0; other < index; ++other) {
      machine.gpus.links.push_back(
          {.first = other, .second = index, .path = GpuPath::Pix, .p2p_access = true});
    }
    machine.gpus.gpus.push_back({.index = index,
                                 .name = name,
                                 .uuid = "GPU-" + std::to_string(index) + "000-fake",
                                 .pci_bus_id = "00000000:1" + std::to_string(index) + ":00.0",
                                 .memory_total_bytes = megabytes << 20,
                                 .memory_free_bytes = (megabytes - 500) << 20,
                                 .capability_major = capability / 10,
                                 .capability_minor = capability % 10});
    return *this;
  }
  FakeGpus& h200() { return add("NVIDIA H200", 143'771, 90); }
  FakeGpus& l4() { return add("NVIDIA L4", 23'034, 89); }
  FakeGpus& rtx_3060() { return add("NVIDIA GeForce RTX 3060", 12'288, 86); }
  FakeGpus& t4() { return add("Tesla T4", 15'360, 75); }
};

}  // namespace myxtts::test
